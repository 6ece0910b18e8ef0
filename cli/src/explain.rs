//! `adc explain CODE`: the page of an error code, from docs/errors.

/// `(code, page)` for each code named.
macro_rules! pages {
    ($($code:literal)*) => {
        pub const PAGES: &[(&str, &str)] =
            &[$(($code, include_str!(concat!("../../docs/errors/", $code, ".md")))),*];
    };
}

pages! {
    "E0101"
    "E0102"
    "E0103"
    "E0104"
    "E0105"
    "E0106"
    "E0107"
    "E0108"
    "E0109"
    "E0110"
    "E0111"
    "E0112"
    "E0113"
    "E0701"
    "E0702"
    "E0703"
    "E0704"
    "E0705"
    "E0706"
    "E0707"
    "E0708"
    "E0709"
    "E0710"
    "E0711"
    "E0712"
    "E0713"
    "E0714"
    "E0715"
    "E0799"
    "E0801"
    "E0802"
    "E0803"
    "E0804"
    "E0805"
    "E0806"
}

pub fn page(code: &str) -> Option<&'static str> {
    PAGES.iter().find(|(known, _)| known.eq_ignore_ascii_case(code)).map(|(_, page)| *page)
}
