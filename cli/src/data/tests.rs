//! Data round trips, and what is refused with which words.

use super::csv::Table;
use super::read::{Given, read};
use super::{Layout, Numbers, Sizes, Tensor, print, value};
use lang::name::{Supply, Var};
use lang::precision::Precision;
use lang::prim::Scalar;
use lang::size::Size;

const REAL: Layout = Layout::Scalar(Scalar::Real);
const INT: Layout = Layout::Scalar(Scalar::Int);
const BOOL: Layout = Layout::Scalar(Scalar::Bool);

fn vars() -> (Var, Var) {
    let mut supply = Supply::default();
    (supply.fresh("n"), supply.fresh("m"))
}

fn given(text: &str) -> Given {
    Given::Json(serde_json::from_str(text).unwrap())
}

fn read_one(layout: &Layout, text: &str) -> Result<Vec<Tensor>, String> {
    read("x", layout, &given(text), &mut Sizes::default(), Precision::Double)
        .map_err(|d| format!("{} {}", d.code, d.message))
}

#[test]
fn json_reads_and_prints_back() {
    let (n, m) = vars();
    let record = Layout::Record(vec![("a".into(), REAL), ("b".into(), BOOL)]);
    let pairs = Layout::array(n.clone().into(), Layout::Tuple(vec![INT, Layout::array(m.into(), REAL)]));
    let cases = [
        (REAL, "1.5"),
        (REAL, "\"NaN\""),
        (REAL, "\"-inf\""),
        (REAL, "-0.0"),
        (REAL, "0.30000000000000004"),
        (REAL, "1e300"),
        (INT, "-9223372036854775808"),
        (Layout::Tuple(vec![]), "[]"),
        (record.clone(), "{\"a\": 0.1, \"b\": true}"),
        (Layout::array(n.into(), record), "[{\"a\": 1.0, \"b\": true}, {\"a\": 2.0, \"b\": false}]"),
        (pairs, "[[1, [1.0, 2.0, 3.0]], [2, [4.0, 5.0, 6.0]]]"),
    ];
    for (layout, text) in cases {
        let leaves = read_one(&layout, text).unwrap();
        assert_eq!(print::json(&layout, &leaves), text);
        let back = value::to_leaves(&layout, &value::to_value::<f64>(&layout, &leaves)).unwrap();
        assert_eq!(print::json(&layout, &back), text);
        let singles = value::to_leaves(&layout, &value::to_value::<f32>(&layout, &leaves)).unwrap();
        let rounded = leaves.iter().map(|l| l.data.clone().rounded(Precision::Single));
        assert!(
            singles.iter().map(|l| &l.data).zip(rounded).all(|(a, b)| format!("{a:?}") == format!("{b:?}"))
        );
        let declared: Vec<Scalar> =
            lang::leaves::leaves(&layout.ty()).unwrap().iter().map(|l| l.scalar).collect();
        let kinds = leaves.iter().map(|l| match l.data {
            Numbers::Real(_) | Numbers::Single(_) => Scalar::Real,
            Numbers::Int(_) => Scalar::Int,
            Numbers::Bool(_) => Scalar::Bool,
        });
        assert_eq!(kinds.collect::<Vec<_>>(), declared, "{layout}");
    }
    // Ints are reals where a real is asked, and the quoted zero is negative.
    assert_eq!(print::json(&REAL, &read_one(&REAL, "3").unwrap()), "3.0");
    assert_eq!(print::json(&REAL, &read_one(&REAL, "\"-0.0\"").unwrap()), "-0.0");
}

#[test]
fn what_does_not_fit_is_named_with_its_place() {
    let (n, m) = vars();
    let matrix = Layout::array(n.clone().into(), Layout::array(m.into(), REAL));
    let record = Layout::Record(vec![("a".into(), INT)]);
    let cases = [
        (&matrix, "[[1, 2], [3]]", "E0707", "`x[1]` has length 1, the ones before it 2"),
        (&matrix, "[[1, 2], [3, true]]", "E0706", "`x[1][1]` is true, not a real"),
        (&matrix, "[1, 2]", "E0706", "`x[0]` is 1, not an array"),
        (&record, "{\"a\": 1.5}", "E0706", "`x.a` is 1.5, not an int"),
        (&record, "{\"b\": 1}", "E0706", "`x` has no field `a`"),
        (&record, "{\"a\": 1, \"b\": 1}", "E0706", "`x` has a field `b`"),
        (&Layout::Tuple(vec![REAL, REAL]), "[1]", "E0706", "`x` is an array of 1, not an array of 2"),
        (&Layout::array(Size::constant(3), REAL), "[1]", "E0707", "`x` has length 1, which must be 3"),
        (&REAL, "\"1\"", "E0706", "`x` is the string \"1\", not a real"),
    ];
    for (layout, text, code, part) in cases {
        let message = read_one(layout, text).unwrap_err();
        assert!(message.starts_with(code) && message.contains(part), "{message}");
        assert!(message.contains(&format!("`{layout}`")), "{message}");
    }
    // A size that an earlier parameter fixed.
    let mut sizes = Sizes::default();
    let vector = Layout::array(n.into(), REAL);
    read("x", &vector, &given("[1, 2, 3]"), &mut sizes, Precision::Double).unwrap();
    let message = read("y", &vector, &given("[1]"), &mut sizes, Precision::Double).unwrap_err().message;
    assert_eq!(message, "`y` should be `real^n` (n = 3 from `x`), but `y` has length 1, which must be n = 3");
}

#[test]
fn empty_arrays_have_the_sizes_that_are_known() {
    let (n, m) = vars();
    let matrix = Layout::array(n.into(), Layout::array(m.clone().into(), REAL));
    let mut sizes = Sizes::default();
    sizes.set(&m, 4, "by hand");
    let leaves = read("x", &matrix, &given("[]"), &mut sizes, Precision::Double).unwrap();
    assert_eq!(leaves[0].shape, [0, 4]);
    assert_eq!(read_one(&matrix, "[]").unwrap()[0].shape, [0, 0]);
}

#[test]
fn tables_become_matrices_vectors_and_records() {
    let (n, m) = vars();
    let table = Table {
        header: vec!["a".into(), "b".into()],
        columns: vec![Ok(vec![1.0, 2.0, 3.0]), Ok(vec![0.0, 1.0, 0.5])],
        rows: 3,
    };
    let size: Size = n.into();
    let load = |layout: &Layout, table: &Table| {
        let leaves =
            read("t", layout, &Given::Table(table.clone()), &mut Sizes::default(), Precision::Double);
        leaves.map(|l| print::json(layout, &l)).map_err(|d| d.message)
    };
    let matrix = Layout::array(size.clone(), Layout::array(m.into(), REAL));
    assert_eq!(load(&matrix, &table).unwrap(), "[[1.0, 0.0], [2.0, 1.0], [3.0, 0.5]]");
    let rows = Layout::Record(vec![("a".into(), INT), ("b".into(), REAL)]);
    let rows = Layout::array(size.clone(), rows);
    assert!(load(&rows, &table).unwrap().starts_with("[{\"a\": 1, \"b\": 0.0}, "));
    let columns = Layout::Record(vec![
        ("a".into(), Layout::array(size.clone(), INT)),
        ("b".into(), Layout::array(size.clone(), REAL)),
    ]);
    assert_eq!(load(&columns, &table).unwrap(), "{\"a\": [1, 2, 3], \"b\": [0.0, 1.0, 0.5]}");
    let vector = Layout::array(size.clone(), INT);
    assert_eq!(load(&vector, &table.select(&["a"]).unwrap()).unwrap(), "[1, 2, 3]");
    assert!(load(&vector, &table).unwrap_err().contains("3 rows and 2 columns"));
    let message = load(&vector, &table.select(&["b"]).unwrap()).unwrap_err();
    assert!(message.contains("column `b` has the entry 0.5, which is not an int"), "{message}");
    let other = Layout::array(size, Layout::Record(vec![("c".into(), REAL)]));
    assert!(load(&other, &table).unwrap_err().contains("no column `c`; there are: a, b"));
}

#[test]
fn large_arrays_are_abridged_for_people() {
    let (n, _) = vars();
    let vector = Layout::array(n.into(), REAL);
    let leaf = Tensor { shape: vec![200], data: Numbers::Real((0..200).map(f64::from).collect()) };
    let text = print::pretty(&vector, &[leaf]);
    assert_eq!(text, "[0.0, 1.0, 2.0, …, 197.0, 198.0, 199.0] (shape 200, mean 99.5, range 0.0 to 199.0)\n");
    let record = Layout::Record(vec![("a".into(), REAL), ("b".into(), BOOL)]);
    let leaves = read_one(&record, "{\"a\": 1, \"b\": false}").unwrap();
    assert_eq!(print::pretty(&record, &leaves), "a = 1.0\nb = false\n");
}
