//! What is given, to the leaves of the type it is for. Sizes are solved on the way: the first array to fix one fixes it, later ones
//! must agree.

use super::csv::Table;
use super::{Layout, Numbers, Sizes, Tensor};
use crate::codes;
use lang::diag::Diagnostic;
use lang::precision::Precision;
use lang::prim::Scalar;
use serde_json::Value as Json;

/// Data before it meets a type.
#[derive(Clone, PartialEq, Debug)]
pub enum Given {
    Json(Json),
    Tensor(Tensor),
    Table(Table),
}

/// What is being read, for messages and for the sizes it fixes.
pub struct Reader<'s> {
    /// The parameter or input.
    pub name: &'s str,
    /// The whole type, as it was written.
    pub whole: &'s Layout,
    pub sizes: &'s mut Sizes,
}

/// The leaves of `given` as data of type `layout`, for the parameter or input called `name`.
pub fn read(
    name: &str,
    layout: &Layout,
    given: &Given,
    sizes: &mut Sizes,
    precision: Precision,
) -> Result<Vec<Tensor>, Diagnostic> {
    let mut reader = Reader { name, whole: layout, sizes };
    let mut out = vec![];
    match given {
        Given::Json(json) => reader.json(layout, &[json], &mut vec![], &mut vec![], &mut out)?,
        Given::Tensor(tensor) => reader.tensor(tensor, &mut out)?,
        Given::Table(table) => reader.table(table, &mut out)?,
    }
    out.into_iter().map(|leaf| reader.rounded(leaf, precision)).collect()
}

/// A step of the way from a parameter to a part of it.
#[derive(Clone)]
enum Step {
    /// An index: which one is counted through the outer dimensions.
    Index,
    Part(String),
}

impl Reader<'_> {
    fn expected(&self) -> String {
        match self.sizes.explain(self.whole) {
            known if known.is_empty() => format!("`{}`", self.whole),
            known => format!("`{}` ({known})", self.whole),
        }
    }

    fn wrong(&self, code: &'static str, what: String) -> Diagnostic {
        Diagnostic::new(code, format!("`{}` should be {}, but {what}", self.name, self.expected()))
    }

    /// A leaf in the precision of the program, to whose reals its numbers must belong.
    fn rounded(&self, leaf: Tensor, precision: Precision) -> Result<Tensor, Diagnostic> {
        let over = leaf.data.reals().and_then(|xs| xs.iter().copied().find(|x| precision.overflows(*x)));
        match over {
            Some(x) => {
                let what = format!("it has {x:?}, which is too large for a real of {precision} precision");
                Err(self.wrong(codes::WRONG_TYPE, what))
            }
            None => Ok(Tensor { shape: leaf.shape, data: leaf.data.rounded(precision) }),
        }
    }

    /// Fits a length to a size; `said` says what has that length.
    fn fit(&mut self, n: &lang::size::Size, length: usize, said: &str) -> Result<(), Diagnostic> {
        let origin = format!("from `{}`", self.name);
        self.sizes.fit(n, length as i64, &origin).map_err(|known| {
            let must = match known {
                Some(k) if n.as_constant().is_some() => format!("must be {k}"),
                Some(k) => format!("must be {n} = {k}"),
                None => format!("does not fit {n}"),
            };
            self.wrong(codes::WRONG_SHAPE, format!("{said}, which {must}"))
        })
    }

    /// `w[2].x`: the part at `at`, counted through `dims`.
    fn place(&self, steps: &[Step], dims: &[usize], mut at: usize) -> String {
        let mut indices: Vec<usize> = dims
            .iter()
            .rev()
            .map(|n| {
                let i = at % n;
                at /= n;
                i
            })
            .collect();
        let mut text = self.name.to_string();
        for step in steps {
            match step {
                Step::Index => text += &format!("[{}]", indices.pop().unwrap_or(0)),
                Step::Part(name) => text += &format!(".{name}"),
            }
        }
        format!("`{text}`")
    }

    /// All elements of the same part at once: `values` are the elements of an array of outer shape `dims`.
    fn json(
        &mut self,
        layout: &Layout,
        values: &[&Json],
        steps: &mut Vec<Step>,
        dims: &mut Vec<usize>,
        out: &mut Vec<Tensor>,
    ) -> Result<(), Diagnostic> {
        let wrong = |r: &Self, i: usize, json: &Json, steps: &[Step], dims: &[usize], want: &str| {
            let what = format!("{} is {}, not {want}", r.place(steps, dims, i), kind(json));
            r.wrong(codes::WRONG_TYPE, what)
        };
        match layout {
            Layout::Scalar(s) => {
                let want = match s {
                    Scalar::Real => "a real",
                    Scalar::Int => "an int",
                    Scalar::Bool => "true or false",
                };
                macro_rules! all {
                    ($wrap:path, $one:expr) => {{
                        let mut xs = Vec::with_capacity(values.len());
                        for (i, json) in values.iter().enumerate() {
                            let x = $one(json);
                            xs.push(x.ok_or_else(|| wrong(self, i, json, steps, dims, want))?);
                        }
                        $wrap(xs)
                    }};
                }
                let data = match s {
                    Scalar::Real => all!(Numbers::Real, real),
                    Scalar::Int => all!(Numbers::Int, |j: &Json| j.as_i64()),
                    Scalar::Bool => all!(Numbers::Bool, |j: &Json| j.as_bool()),
                };
                out.push(Tensor { shape: dims.clone(), data });
            }
            Layout::Tuple(parts) => {
                let want = format!("an array of {}, for `{layout}`", parts.len());
                for (i, json) in values.iter().enumerate() {
                    if json.as_array().is_none_or(|a| a.len() != parts.len()) {
                        return Err(wrong(self, i, json, steps, dims, &want));
                    }
                }
                for (k, part) in parts.iter().enumerate() {
                    let column: Vec<&Json> = values.iter().map(|json| &json[k]).collect();
                    steps.push(Step::Part(k.to_string()));
                    self.json(part, &column, steps, dims, out)?;
                    steps.pop();
                }
            }
            Layout::Record(fields) => {
                for (i, json) in values.iter().enumerate() {
                    let Some(object) = json.as_object() else {
                        return Err(wrong(self, i, json, steps, dims, &format!("an object, for `{layout}`")));
                    };
                    let extra = object.keys().find(|key| fields.iter().all(|(x, _)| **x != ***key));
                    let missing = fields.iter().find(|(x, _)| !object.contains_key(&**x));
                    let fault = match (extra, missing) {
                        (_, Some((x, _))) => format!("has no field `{x}`"),
                        (Some(key), None) => format!("has a field `{key}`"),
                        (None, None) => continue,
                    };
                    let what = format!("{} {fault}", self.place(steps, dims, i));
                    return Err(self.wrong(codes::WRONG_TYPE, what));
                }
                for (x, part) in fields {
                    let column: Vec<&Json> = values.iter().map(|json| &json[&**x]).collect();
                    steps.push(Step::Part(x.to_string()));
                    self.json(part, &column, steps, dims, out)?;
                    steps.pop();
                }
            }
            Layout::Sum(arms) => {
                let mut tags = vec![];
                let mut payloads: Vec<Option<&Json>> = vec![];
                for (i, json) in values.iter().enumerate() {
                    let (x, payload) = match json {
                        Json::String(x) => (x.as_str(), None),
                        Json::Object(o) if o.len() == 1 => {
                            let (x, v) = o.iter().next().expect("one entry");
                            (x.as_str(), Some(v))
                        }
                        _ => {
                            let want = format!("{{\"constructor\": value}}, for `{layout}`");
                            return Err(wrong(self, i, json, steps, dims, &want));
                        }
                    };
                    let Some(k) = arms.iter().position(|(y, _)| **y == *x) else {
                        let what = format!("{} has the constructor `{x}`", self.place(steps, dims, i));
                        return Err(self.wrong(codes::WRONG_TYPE, what));
                    };
                    let alone = matches!(&arms[k].1, Layout::Tuple(ts) if ts.is_empty());
                    if payload.is_none() && !alone {
                        let what = format!("{} has `{x}` without a value", self.place(steps, dims, i));
                        return Err(self.wrong(codes::WRONG_TYPE, what));
                    }
                    tags.push(k as i64);
                    payloads.push(payload);
                }
                out.push(Tensor { shape: dims.clone(), data: Numbers::Int(tags.clone()) });
                let unit = Json::Array(vec![]);
                for (k, (x, t)) in arms.iter().enumerate() {
                    steps.push(Step::Part(x.to_string()));
                    let meant = |i: usize| tags[i] == k as i64;
                    let own = (0..values.len()).filter(|i| meant(*i));
                    let own: Vec<&Json> = own.map(|i| payloads[i].unwrap_or(&unit)).collect();
                    // Those that are there fix the sizes; the others are filled up.
                    if !own.is_empty() {
                        self.json(t, &own, &mut vec![], &mut vec![own.len()], &mut vec![])?;
                    }
                    let filler = self.filler(t);
                    let column = (0..values.len()).map(|i| match meant(i) {
                        true => payloads[i].unwrap_or(&unit),
                        false => &filler,
                    });
                    let column: Vec<&Json> = column.collect();
                    self.json(t, &column, steps, dims, out)?;
                    steps.pop();
                }
            }
            Layout::Array(n, element) => {
                let mut elements = vec![];
                let mut length = None;
                for (i, json) in values.iter().enumerate() {
                    let row = json.as_array();
                    let row = row.ok_or_else(|| wrong(self, i, json, steps, dims, "an array"))?;
                    let at = self.place(steps, dims, i);
                    match length {
                        None => self.fit(n, row.len(), &format!("{at} has length {}", row.len()))?,
                        Some(first) if first != row.len() => {
                            let what = format!("{at} has length {}, the ones before it {first}", row.len());
                            return Err(self.wrong(codes::WRONG_SHAPE, what));
                        }
                        Some(_) => {}
                    }
                    length = Some(row.len());
                    elements.extend(row.iter());
                }
                // Without a row to look at, the size is what is known of it, or 0.
                let length = match length {
                    Some(length) => length,
                    None => self.unseen(n)?,
                };
                steps.push(Step::Index);
                dims.push(length);
                self.json(element, &elements, steps, dims, out)?;
                dims.pop();
                steps.pop();
            }
        }
        Ok(())
    }

    /// Any value of a layout, at the sizes known so far.
    fn filler(&self, layout: &Layout) -> Json {
        match layout {
            Layout::Scalar(Scalar::Real) => 0.0.into(),
            Layout::Scalar(Scalar::Int) => 0.into(),
            Layout::Scalar(Scalar::Bool) => false.into(),
            Layout::Tuple(ts) => ts.iter().map(|t| self.filler(t)).collect::<Vec<_>>().into(),
            Layout::Record(fs) => {
                Json::Object(fs.iter().map(|(x, t)| (x.to_string(), self.filler(t))).collect())
            }
            Layout::Array(n, t) => {
                let length = self.sizes.eval(n).unwrap_or(0).max(0);
                (0..length).map(|_| self.filler(t)).collect::<Vec<_>>().into()
            }
            Layout::Sum(arms) => match arms.first() {
                Some((x, t)) => Json::Object([(x.to_string(), self.filler(t))].into_iter().collect()),
                None => Json::Null,
            },
        }
    }

    /// The length of the rows of an array that has none.
    fn unseen(&mut self, n: &lang::size::Size) -> Result<usize, Diagnostic> {
        match self.sizes.eval(n) {
            Some(k) => Ok(k.max(0) as usize),
            None => {
                let said = format!("`{}` has length 0", self.name);
                self.fit(n, 0, &said).map(|()| 0)
            }
        }
    }

    fn tensor(&mut self, tensor: &Tensor, out: &mut Vec<Tensor>) -> Result<(), Diagnostic> {
        let (mut layout, mut sizes) = (self.whole, vec![]);
        while let Layout::Array(n, element) = layout {
            sizes.push(n);
            layout = element;
        }
        let given = format!("the array given has shape {:?}", tensor.shape);
        let Layout::Scalar(scalar) = layout else {
            return Err(self.wrong(codes::WRONG_TYPE, "an array file holds numbers of one type".into()));
        };
        if sizes.len() != tensor.shape.len() {
            return Err(self.wrong(codes::WRONG_SHAPE, given));
        }
        for (i, (n, length)) in sizes.into_iter().zip(&tensor.shape).enumerate() {
            self.fit(n, *length, &format!("dimension {} of the array given is {length}", i + 1))?;
        }
        let data = match (scalar, &tensor.data) {
            (Scalar::Real, Numbers::Int(xs)) => Numbers::Real(xs.iter().map(|k| *k as f64).collect()),
            (Scalar::Real, Numbers::Real(_) | Numbers::Single(_))
            | (Scalar::Int, Numbers::Int(_))
            | (Scalar::Bool, Numbers::Bool(_)) => tensor.data.clone(),
            (
                Scalar::Real | Scalar::Int | Scalar::Bool,
                Numbers::Real(_) | Numbers::Single(_) | Numbers::Int(_) | Numbers::Bool(_),
            ) => {
                let elements = match &tensor.data {
                    Numbers::Real(_) | Numbers::Single(_) => "reals",
                    Numbers::Int(_) => "ints",
                    Numbers::Bool(_) => "bools",
                };
                return Err(self.wrong(codes::WRONG_TYPE, format!("the array given holds {elements}")));
            }
        };
        out.push(Tensor { shape: tensor.shape.clone(), data });
        Ok(())
    }

    /// A matrix by rows; one column as a vector; records or tuples by columns, as an array of them or of arrays.
    fn table(&mut self, table: &Table, out: &mut Vec<Tensor>) -> Result<(), Diagnostic> {
        let columns = table.columns.len();
        let shape = format!("the table given has {} rows and {columns} columns", table.rows);
        let (rows_said, columns_said) = (
            format!("the table given has {} rows", table.rows),
            format!("the table given has {columns} columns"),
        );
        match self.whole {
            Layout::Array(n, element) => match &**element {
                Layout::Array(d, inner) => {
                    let Layout::Scalar(scalar) = **inner else {
                        return Err(self.wrong(codes::WRONG_TYPE, "a table has two dimensions".into()));
                    };
                    self.fit(n, table.rows, &rows_said)?;
                    self.fit(d, columns, &columns_said)?;
                    let columns =
                        (0..columns).map(|k| self.numbers(table, k)).collect::<Result<Vec<_>, _>>()?;
                    let rows = (0..table.rows).flat_map(|i| columns.iter().map(move |c| c[i]));
                    let data = self.column("the table", scalar, &rows.collect::<Vec<f64>>())?;
                    out.push(Tensor { shape: vec![table.rows, columns.len()], data });
                }
                Layout::Scalar(scalar) => {
                    if columns != 1 {
                        return Err(self.wrong(codes::WRONG_SHAPE, shape));
                    }
                    self.fit(n, table.rows, &rows_said)?;
                    let data = self.column(&table.header[0], *scalar, self.numbers(table, 0)?)?;
                    out.push(Tensor { shape: vec![table.rows], data });
                }
                Layout::Sum(_) => return Err(self.wrong(codes::WRONG_TYPE, shape)),
                Layout::Record(_) | Layout::Tuple(_) => {
                    for (column, scalar) in self.columns(element, table)? {
                        self.fit(n, table.rows, &rows_said)?;
                        let data =
                            self.column(&table.header[column], scalar, self.numbers(table, column)?)?;
                        out.push(Tensor { shape: vec![table.rows], data });
                    }
                }
            },
            Layout::Record(_) | Layout::Tuple(_) => {
                for (column, scalar) in self.columns(self.whole, table)? {
                    for part in self.whole.parts() {
                        if let Layout::Array(n, _) = part {
                            self.fit(n, table.rows, &rows_said)?;
                        }
                    }
                    let data = self.column(&table.header[column], scalar, self.numbers(table, column)?)?;
                    out.push(Tensor { shape: vec![table.rows], data });
                }
            }
            Layout::Scalar(_) | Layout::Sum(_) => return Err(self.wrong(codes::WRONG_TYPE, shape)),
        }
        Ok(())
    }

    /// A column of a table, which must be one of numbers.
    fn numbers<'t>(&self, table: &'t Table, column: usize) -> Result<&'t [f64], Diagnostic> {
        table.columns[column].as_deref().map_err(|what| Diagnostic::new(codes::BAD_CSV, what.clone()))
    }

    /// The table's column for each part: by header name for a record, by position for a tuple.
    fn columns(&self, layout: &Layout, table: &Table) -> Result<Vec<(usize, Scalar)>, Diagnostic> {
        let names: Vec<Option<&str>> = match layout {
            Layout::Record(fields) => fields.iter().map(|(x, _)| Some(&**x)).collect(),
            Layout::Tuple(parts) => vec![None; parts.len()],
            Layout::Scalar(_) | Layout::Array(..) | Layout::Sum(_) => vec![],
        };
        if table.columns.len() < names.len() || (names.contains(&None) && table.columns.len() != names.len())
        {
            let what = format!("the table given has {} columns", table.columns.len());
            return Err(self.wrong(codes::WRONG_SHAPE, what));
        }
        let mut out = vec![];
        for (i, (name, part)) in names.into_iter().zip(layout.parts()).enumerate() {
            let at = match name {
                None => Ok(i),
                Some(name) => table.find(name),
            };
            let at = at.map_err(|what| self.wrong(codes::BAD_CSV, what))?;
            let scalar = match part {
                Layout::Scalar(s) => *s,
                Layout::Array(_, element) => match &**element {
                    Layout::Scalar(s) => *s,
                    Layout::Array(..) | Layout::Tuple(_) | Layout::Record(_) | Layout::Sum(_) => {
                        return Err(self.wrong(codes::WRONG_TYPE, "a column holds numbers".into()));
                    }
                },
                Layout::Tuple(_) | Layout::Record(_) | Layout::Sum(_) => {
                    return Err(self.wrong(codes::WRONG_TYPE, "a column holds numbers".into()));
                }
            };
            out.push((at, scalar));
        }
        Ok(out)
    }

    fn column(&self, name: &str, scalar: Scalar, xs: &[f64]) -> Result<Numbers, Diagnostic> {
        let bad = |x: f64, want: &str| {
            self.wrong(codes::WRONG_TYPE, format!("column `{name}` has the entry {x}, which is not {want}"))
        };
        Ok(match scalar {
            Scalar::Real => Numbers::Real(xs.to_vec()),
            Scalar::Int => {
                // Fields are read as doubles: from 2^53 on one may stand for several ints.
                let ints = xs.iter().map(|x| match x.fract() == 0.0 {
                    true if x.abs() < 9_007_199_254_740_992.0 => Ok(*x as i64),
                    true => Err(bad(*x, "below 2^53, as ints in a table must be")),
                    false => Err(bad(*x, "an int")),
                });
                Numbers::Int(ints.collect::<Result<_, _>>()?)
            }
            Scalar::Bool => {
                let bools = xs.iter().map(|x| match *x {
                    0.0 => Ok(false),
                    1.0 => Ok(true),
                    x => Err(bad(x, "0 or 1")),
                });
                Numbers::Bool(bools.collect::<Result<_, _>>()?)
            }
        })
    }
}

fn real(json: &Json) -> Option<f64> {
    match json {
        Json::Number(n) => n.as_f64(),
        Json::String(s) => match s.as_str() {
            "NaN" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            "-0.0" => Some(-0.0),
            _ => None,
        },
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn kind(json: &Json) -> String {
    match json {
        Json::Null => "null".into(),
        Json::Bool(b) => b.to_string(),
        Json::Number(n) => n.to_string(),
        Json::String(s) => format!("the string \"{s}\""),
        Json::Array(a) => format!("an array of {}", a.len()),
        Json::Object(_) => "an object".into(),
    }
}
