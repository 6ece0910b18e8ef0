//! "Did you mean …": the nearest known name by edit distance.

use lang::diag::Diagnostic;

/// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut d = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d = d.min(rows[i - 2][j - 2] + 1);
            }
            row.push(d);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The diagnostic with the nearest known name as its help, if one is near enough.
pub fn with<'a>(d: Diagnostic, name: &str, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    if name.len() > 64 {
        return d;
    }
    let limit = match name.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    let near = known
        .filter(|k| k.len() <= name.len() + 3)
        .map(|k| (distance(name, k), k))
        .filter(|(n, k)| *n <= limit && *n < k.chars().count())
        .min();
    match near {
        Some((_, k)) => d.help(format!("did you mean `{k}`?")),
        None => d,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        assert_eq!(distance("sofplus", "softplus"), 1);
        assert_eq!(distance("odt", "dot"), 1);
        let d = with(Diagnostic::new("E0201", ""), "transpsoe", ["dot", "transpose"].into_iter());
        assert_eq!(d.help.as_deref(), Some("did you mean `transpose`?"));
        let d = with(Diagnostic::new("E0201", ""), "q", ["x"].into_iter());
        assert_eq!(d.help, None);
    }
}
