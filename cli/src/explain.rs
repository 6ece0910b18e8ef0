//! `adc explain CODE`: the page of an error code, from docs/errors.

/// `(code, page)` for each code named.
macro_rules! pages {
    ($($code:literal)*) => {
        pub const PAGES: &[(&str, &str)] =
            &[$(($code, include_str!(concat!("../../docs/errors/", $code, ".md")))),*];
    };
}

pages! {
    "E0701" "E0703"
}

pub fn page(code: &str) -> Option<&'static str> {
    PAGES.iter().find(|(known, _)| known.eq_ignore_ascii_case(code)).map(|(_, page)| *page)
}
