//! Comma-separated values: a header line of names, then rows of numbers.

/// The columns of a file, in order, each with its name.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    pub header: Vec<String>,
    pub columns: Vec<Column>,
    pub rows: usize,
}

/// Its numbers, or what is wrong with the first field that is none: a column of text does no harm where others are asked for.
pub type Column = Result<Vec<f64>, String>;

/// The table in a text; the message says what is wrong with it and in which line. A first line that is all numbers is
/// data, and the columns are then named 0, 1, …; one with some numbers in it is neither names nor data.
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
        let a_name = record.iter().find(|f| number(f).is_none()).filter(|_| table.is_none());
        if let Some(y) = a_name
            && let Some(x) = record.iter().find(|f| number(f).is_some())
        {
            return Err(format!(
                "line {line} is neither names nor numbers: `{x}` is a number, `{y}` is none"
            ));
        }
        let table = table.get_or_insert_with(|| {
            let header: Vec<String> = match a_name {
                Some(_) => record.iter().map(str::to_string).collect(),
                None => (0..record.len()).map(|i| i.to_string()).collect(),
            };
            Table { columns: vec![Ok(vec![]); header.len()], header, rows: 0 }
        });
        if a_name.is_some() {
            continue;
        }
        table.rows += 1;
        for ((column, field), name) in table.columns.iter_mut().zip(record.iter()).zip(&table.header) {
            let Ok(numbers) = column else { continue };
            match number(field) {
                Some(x) => numbers.push(x),
                None => {
                    let what = if field.is_empty() {
                        "nothing is there".into()
                    } else {
                        format!("`{field}` is not a number")
                    };
                    *column = Err(format!("line {line}, column `{name}`: {what}"));
                }
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
        Ok(Table { header: names.iter().map(|n| n.to_string()).collect(), columns, rows: self.rows })
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_columns_and_selection() {
        let table = read("a,b,label\n1,2.5,true\n-3e2,inf,false\n").unwrap();
        assert_eq!(table.columns, [vec![1.0, -300.0], vec![2.5, f64::INFINITY], vec![1.0, 0.0]].map(Ok));
        assert_eq!(
            table.select(&["label", "a"]).unwrap().columns,
            [vec![1.0, 0.0], vec![1.0, -300.0]].map(Ok)
        );
        assert!(table.select(&["c"]).unwrap_err().contains("a, b, label"));
        assert_eq!(read("1,2\n3,4\n").unwrap().columns, [vec![1.0, 3.0], vec![2.0, 4.0]].map(Ok));
    }

    #[test]
    fn columns_that_share_a_name_cannot_be_named() {
        let table = read("a,b,a\n1,2,3\n").unwrap();
        assert_eq!(table.select(&["a"]).unwrap_err(), "there are two columns `a`");
        assert_eq!(table.select(&["b"]).unwrap().columns, [Ok(vec![2.0])]);
    }

    #[test]
    fn faults_name_the_line() {
        let second = |text: &str| read(text).unwrap().columns[1].clone().unwrap_err();
        assert_eq!(second("a,b\n1,\n"), "line 2, column `b`: nothing is there");
        assert_eq!(second("a,b\n1,2\n3,x\n4,y\n"), "line 3, column `b`: `x` is not a number");
        let table = read("a,b\n1,2\n3,x\n").unwrap();
        assert_eq!((table.rows, &table.columns[0]), (2, &Ok(vec![1.0, 3.0])));
        assert!(read("a,b\n1,2\n3\n").unwrap_err().contains("line 3 has 1 field,"));
        assert!(read("").unwrap_err().contains("empty"));
        // A row with a hole is not taken for names.
        for text in ["1,NA\n2,3\n", "1,\n2,3\n", "country,2019\nx,1\n"] {
            assert!(read(text).unwrap_err().starts_with("line 1 is neither names nor numbers: `"), "{text}");
        }
    }
}
