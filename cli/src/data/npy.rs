//! NumPy's array file format, versions 1 to 3: a magic number, a header (a Python dictionary with the element type, the order
//! and the shape), the elements. And its archives of several arrays, `.npz`: zip archives with a `.npy` file for each.

use super::{Numbers, Tensor};
use std::io::{Cursor, Read};

/// The arrays in the bytes of a `.npz` file, by name.
pub fn archive(bytes: &[u8]) -> Result<Vec<(String, Tensor)>, String> {
    let wrong = |e: zip::result::ZipError| format!("this is no archive of arrays: {e}");
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(wrong)?;
    let mut out = vec![];
    for k in 0..archive.len() {
        let mut file = archive.by_index(k).map_err(wrong)?;
        let name = file.name().map_err(wrong)?.to_string();
        let Some(name) = name.strip_suffix(".npy") else {
            return Err(format!("`{name}` in it is no array"));
        };
        let mut content = vec![];
        file.read_to_end(&mut content).map_err(|e| format!("`{name}` in it cannot be read: {e}"))?;
        out.push((name.to_string(), read(&content).map_err(|fault| format!("`{name}` in it: {fault}"))?));
    }
    Ok(out)
}

/// The array in the bytes of a `.npy` file; the message says what is wrong with them.
pub fn read(bytes: &[u8]) -> Result<Tensor, String> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("the file does not begin with NumPy's magic number")?;
    let &[major, _, ref rest @ ..] = rest else { return Err("the file ends in its header".into()) };
    let (length, rest) = match (major, rest) {
        (1, [a, b, rest @ ..]) => (u16::from_le_bytes([*a, *b]) as usize, rest),
        (2 | 3, [a, b, c, d, rest @ ..]) => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        (1..=3, _) => return Err("the file ends in its header".into()),
        (version, _) => return Err(format!("version {version} of the format is not known")),
    };
    let (header, body) = rest.split_at_checked(length).ok_or("the file ends in its header")?;
    let header = std::str::from_utf8(header).map_err(|_| "the header is not text")?;
    let descr = field(header, "descr").ok_or("the header has no 'descr'")?.trim_matches(['\'', '"']);
    let column_major = match field(header, "fortran_order") {
        Some("True") => true,
        Some("False") => false,
        other => return Err(format!("'fortran_order' is {}", other.unwrap_or("missing"))),
    };
    let shape = shape(field(header, "shape").ok_or("the header has no 'shape'")?)?;
    let count = shape.iter().try_fold(1usize, |n, k| n.checked_mul(*k)).ok_or("the shape is too large")?;
    let data = elements(descr, body, count)?;
    let data = if column_major { row_major(data, &shape) } else { data };
    Ok(Tensor { shape, data })
}

/// The text of `'name': value` in the header's dictionary, up to the comma or brace that ends it.
fn field<'h>(header: &'h str, name: &str) -> Option<&'h str> {
    let at = header.find(&format!("'{name}'"))? + name.len() + 2;
    let value = header[at..].trim_start().strip_prefix(':')?.trim_start();
    let end = match value.strip_prefix('(') {
        Some(tuple) => tuple.find(')')? + 2,
        None => value.find([',', '}'])?,
    };
    Some(value[..end].trim_end())
}

fn shape(text: &str) -> Result<Vec<usize>, String> {
    let inner = text.strip_prefix('(').and_then(|t| t.strip_suffix(')'));
    let inner = inner.ok_or_else(|| format!("the shape is `{text}`"))?;
    let numbers = inner.split(',').map(str::trim).filter(|t| !t.is_empty());
    numbers.map(|t| t.parse().map_err(|_| format!("the shape is `{text}`"))).collect()
}

fn elements(descr: &str, body: &[u8], count: usize) -> Result<Numbers, String> {
    let (order, kind) = match descr.split_at_checked(1) {
        Some((order @ ("<" | ">" | "|" | "="), kind)) => (order, kind),
        _ => return Err(format!("the element type is `{descr}`, which adc does not read")),
    };
    /// Every element through its own little-endian reader.
    macro_rules! read {
        ($wrap:path, $as:ty, $from:ty) => {{
            const SIZE: usize = size_of::<$from>();
            let needed = count.checked_mul(SIZE).ok_or("the shape is too large")?;
            if body.len() < needed {
                return Err(format!("{count} elements need {needed} bytes, the file has {}", body.len()));
            }
            let chunks = body[..needed].chunks_exact(SIZE).map(|chunk| {
                let mut bytes = [0u8; SIZE];
                bytes.copy_from_slice(chunk);
                if order == ">" {
                    bytes.reverse();
                }
                <$from>::from_le_bytes(bytes) as $as
            });
            Ok($wrap(chunks.collect()))
        }};
    }
    match kind {
        "f8" => read!(Numbers::Real, f64, f64),
        "f4" => read!(Numbers::Real, f64, f32),
        "i8" => read!(Numbers::Int, i64, i64),
        "i4" => read!(Numbers::Int, i64, i32),
        "i2" => read!(Numbers::Int, i64, i16),
        "i1" => read!(Numbers::Int, i64, i8),
        "u4" => read!(Numbers::Int, i64, u32),
        "u2" => read!(Numbers::Int, i64, u16),
        "u1" => read!(Numbers::Int, i64, u8),
        "b1" => match body.get(..count) {
            Some(bytes) => Ok(Numbers::Bool(bytes.iter().map(|b| *b != 0).collect())),
            None => Err(format!("{count} elements need {count} bytes, the file has {}", body.len())),
        },
        _ => Err(format!("the element type is `{descr}`, which adc does not read")),
    }
}

/// The same array with the last index running fastest, from one with the first index running fastest.
fn row_major(data: Numbers, shape: &[usize]) -> Numbers {
    fn turn<T: Copy>(data: &[T], shape: &[usize]) -> Vec<T> {
        let mut index = vec![0usize; shape.len()];
        let mut out = Vec::with_capacity(data.len());
        for _ in 0..data.len() {
            let at = shape.iter().zip(&index).rev().fold(0, |at, (n, i)| at * n + i);
            out.push(data[at]);
            for (i, n) in index.iter_mut().zip(shape).rev() {
                *i += 1;
                if *i < *n {
                    break;
                }
                *i = 0;
            }
        }
        out
    }
    match data {
        Numbers::Real(xs) => Numbers::Real(turn(&xs, shape)),
        Numbers::Single(xs) => Numbers::Single(turn(&xs, shape)),
        Numbers::Int(xs) => Numbers::Int(turn(&xs, shape)),
        Numbers::Bool(xs) => Numbers::Bool(turn(&xs, shape)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, body: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn reads_types_orders_and_shapes() {
        let body: Vec<u8> = [1.5f64, -2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let bytes = file("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", &body);
        let expected = Tensor { shape: vec![2], data: Numbers::Real(vec![1.5, -2.0]) };
        assert_eq!(read(&bytes), Ok(expected));
        let body: Vec<u8> = [1i16, 2, 3, 4, 5, 6].iter().flat_map(|x| x.to_be_bytes()).collect();
        let bytes = file("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", &body);
        let expected = Tensor { shape: vec![2, 3], data: Numbers::Int(vec![1, 3, 5, 2, 4, 6]) };
        assert_eq!(read(&bytes), Ok(expected));
        let bytes = file("{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n", &[1]);
        assert_eq!(read(&bytes), Ok(Tensor { shape: vec![], data: Numbers::Bool(vec![true]) }));
    }

    #[test]
    fn broken_files_are_refused() {
        let good = file("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", &[0; 16]);
        for n in 0..good.len() {
            assert!(read(&good[..n]).is_err(), "{n} bytes of {}", good.len());
        }
        assert!(read(&file("{'descr': '<c16', 'fortran_order': False, 'shape': (), }", &[0; 16])).is_err());
        let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }";
        assert!(read(&file(huge, &[])).is_err());
    }
}
