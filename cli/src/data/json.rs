//! JSON, in which no object has a key twice.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// The value of a text.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Unique>(text).map(|u| u.0)
}

struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unique, D::Error> {
        deserializer.deserialize_any(Any).map(Unique)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E: Error>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }
    fn visit_i64<E: Error>(self, k: i64) -> Result<Value, E> {
        Ok(Value::Number(k.into()))
    }
    fn visit_u64<E: Error>(self, k: u64) -> Result<Value, E> {
        Ok(Value::Number(k.into()))
    }
    fn visit_f64<E: Error>(self, x: f64) -> Result<Value, E> {
        Ok(Number::from_f64(x).map_or(Value::Null, Value::Number))
    }
    fn visit_str<E: Error>(self, s: &str) -> Result<Value, E> {
        Ok(Value::String(s.into()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut out = vec![];
        while let Some(Unique(item)) = items.next_element()? {
            out.push(item);
        }
        Ok(Value::Array(out))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some((key, Unique(value))) = fields.next_entry::<String, Unique>()? {
            if out.contains_key(&key) {
                return Err(A::Error::custom(format!("`{key}` is there twice")));
            }
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn values_are_those_of_serde_json_and_keys_are_unique() {
        for text in ["[1, -2, 2.5, 1e300, 18446744073709551615]", "{\"b\": null, \"a\": [true, \"é\"]}", "{}"]
        {
            assert_eq!(parse(text).unwrap(), serde_json::from_str::<serde_json::Value>(text).unwrap());
        }
        let twice = parse("{\"r\": {\"x\": 1, \"x\": 2}}").unwrap_err().to_string();
        assert!(twice.starts_with("`x` is there twice at line 1"), "{twice}");
    }
}
