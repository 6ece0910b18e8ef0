//! Comma-separated values: a header line of names, then rows of numbers.

/// The columns of a file, in order, each with its name.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    pub header: Vec<String>,
    pub columns: Vec<Vec<f64>>,
}

/// The table in a text; the message says what is wrong with it and in which line. A first line that is all numbers is
/// data, and the columns are then named 0, 1, ….
pub fn read(text: &str) -> Result<Table, String> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(text.as_bytes());
    let mut table: Option<Table> = None;
    for record in reader.records() {
        let record = record.map_err(|e| match e.kind() {
            csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
                let line = pos.as_ref().map_or(0, csv::Position::line);
                let fields = if *len == 1 { "field" } else { "fields" };
                format!("line {line} has {len} {fields}, the first has {expected_len}")
            }
            _ => e.to_string(),
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let first = table.is_none();
        let table = table.get_or_insert_with(|| {
            let names = record.iter().map(str::to_string);
            let names: Vec<String> = match record.iter().all(|f| number(f).is_some()) {
                true => (0..record.len()).map(|i| i.to_string()).collect(),
                false => names.collect(),
            };
            Table { columns: vec![vec![]; names.len()], header: names }
        });
        if first && record.iter().any(|f| number(f).is_none()) {
            continue;
        }
        for ((column, field), name) in table.columns.iter_mut().zip(record.iter()).zip(&table.header) {
            match number(field) {
                Some(x) => column.push(x),
                None if field.is_empty() => {
                    return Err(format!("line {line}, column `{name}`: nothing is there"));
                }
                None => return Err(format!("line {line}, column `{name}`: `{field}` is not a number")),
            }
        }
    }
    table.ok_or_else(|| "the file is empty".into())
}

/// A field's number; true and false are 1 and 0.
fn number(field: &str) -> Option<f64> {
    match field {
        "true" | "True" | "TRUE" => Some(1.0),
        "false" | "False" | "FALSE" => Some(0.0),
        _ => field.parse().ok(),
    }
}

impl Table {
    /// The columns with these names, in this order.
    pub fn select(&self, names: &[&str]) -> Result<Table, String> {
        let mut columns = vec![];
        for name in names {
            columns.push(self.columns[self.find(name)?].clone());
        }
        Ok(Table { header: names.iter().map(|n| n.to_string()).collect(), columns })
    }

    /// The column of that name.
    pub fn find(&self, name: &str) -> Result<usize, String> {
        let mut found = (0..self.header.len()).filter(|i| self.header[*i] == name);
        match (found.next(), found.next()) {
            (Some(i), None) => Ok(i),
            (Some(_), Some(_)) => Err(format!("there are two columns `{name}`")),
            (None, _) => Err(format!("there is no column `{name}`; there are: {}", self.header.join(", "))),
        }
    }

    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_columns_and_selection() {
        let table = read("a,b,label\n1,2.5,true\n-3e2,inf,false\n").unwrap();
        assert_eq!(table.columns, [vec![1.0, -300.0], vec![2.5, f64::INFINITY], vec![1.0, 0.0]]);
        assert_eq!(table.select(&["label", "a"]).unwrap().columns, [vec![1.0, 0.0], vec![1.0, -300.0]]);
        assert!(table.select(&["c"]).unwrap_err().contains("a, b, label"));
        assert_eq!(read("1,2\n3,4\n").unwrap().columns, [[1.0, 3.0], [2.0, 4.0]]);
    }

    #[test]
    fn columns_that_share_a_name_cannot_be_named() {
        let table = read("a,b,a\n1,2,3\n").unwrap();
        assert_eq!(table.select(&["a"]).unwrap_err(), "there are two columns `a`");
        assert_eq!(table.select(&["b"]).unwrap().columns, [[2.0]]);
    }

    #[test]
    fn faults_name_the_line() {
        assert!(read("a,b\n1,\n").unwrap_err().contains("line 2, column `b`: nothing is there"));
        assert!(read("a,b\n1,2\n3\n").unwrap_err().contains("line 3 has 1 field,"));
        assert!(read("a,b\n1,2\n3,x\n").unwrap_err().contains("line 3, column `b`: `x`"));
        assert!(read("").unwrap_err().contains("empty"));
    }
}
