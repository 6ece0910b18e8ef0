//! Where compiled code is kept from one run to the next.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The directory, or None where nothing is kept: `ADC_CACHE` names it, or says `off`; otherwise it is `adc` in the user's cache directory.
pub fn directory() -> Option<PathBuf> {
    chosen(&|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

fn chosen(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    match variable("ADC_CACHE") {
        Some(value) if value == "off" => return None,
        Some(value) => return Some(value.into()),
        None => {}
    }
    // A relative path in XDG_CACHE_HOME is to be ignored.
    let xdg = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let home = || variable("HOME").map(|home| Path::new(&home).join(".cache"));
    xdg.or_else(home).map(|dir| dir.join("adc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_follows_the_environment() {
        let with = |set: &[(&str, &str)]| {
            chosen(&|name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
                .map(|dir| dir.display().to_string())
        };
        let home = ("HOME", "/home/a");
        assert_eq!(with(&[home]).as_deref(), Some("/home/a/.cache/adc"));
        assert_eq!(with(&[home, ("XDG_CACHE_HOME", "/c")]).as_deref(), Some("/c/adc"));
        assert_eq!(with(&[home, ("XDG_CACHE_HOME", "c")]).as_deref(), Some("/home/a/.cache/adc"));
        assert_eq!(with(&[home, ("ADC_CACHE", "/x")]).as_deref(), Some("/x"));
        assert_eq!(with(&[home, ("ADC_CACHE", "off")]), None);
        assert_eq!(with(&[]), None);
    }
}
