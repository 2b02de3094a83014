//! What a decoder answers: a line of JSON for the greeting, and one for every datagram.

use super::{MOST_LINE_BYTES, VERSION};
use serde_json::{Map, Value as Json, json};
use std::fmt;

/// Most fields of one answer.
pub const MOST_FIELDS: usize = 65_536;
/// Longest name of a field, in bytes.
pub const MOST_NAME_BYTES: usize = 256;

/// Content of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `int`: a whole number.
    Integer(i128),
    /// `f32`: a number of single precision.
    Single(f32),
    /// `f64`: a number of double precision.
    Double(f64),
    /// `text`: compared as it is.
    Text(String),
    /// `bool`
    Flag(bool),
}

/// A field that a decoder has found.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Name as tolerance rules have it, such as `snapshot.player[3].x`.
    pub name: String,
    /// Content.
    pub value: Value,
}

/// What a decoder knows of a datagram.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded {
    /// Nothing: its bytes are compared. Why, if anything is to be said about it.
    Opaque(String),
    /// A part of something that a later datagram completes.
    Held,
    /// All that is in it, and in the parts before it.
    Fields(Vec<Field>),
}

/// A line of a decoder.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Number of the datagram.
    pub number: u64,
    /// The answer.
    pub answer: Decoded,
}

/// Why a line of a decoder is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerError {
    /// The line is no JSON object.
    NotJson,
    /// The key is missing, or not what it should be.
    Key(&'static str),
    /// An unknown key.
    Unknown(String),
    /// A field, from 0, is not `[name, type, value]` of a known type.
    Field(usize),
    /// Too many fields.
    Fields(usize),
    /// The decoder speaks another version.
    Version(u64),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnswerError::NotJson => write!(f, "expected a JSON object"),
            AnswerError::Key(key) => write!(f, "key `{key}` is missing or has another type than it should"),
            AnswerError::Unknown(key) => write!(f, "unknown key `{key}`"),
            AnswerError::Field(at) => write!(
                f,
                "field {}: expected [name, type, value] with a name of at most {MOST_NAME_BYTES} bytes, a type of int, f32, \
                 f64, text, bool, and a value of that type",
                at + 1
            ),
            AnswerError::Fields(found) => write!(f, "{found} fields, more than {MOST_FIELDS}"),
            AnswerError::Version(found) => {
                write!(f, "the decoder speaks version {found} of the conversation, and prony version {VERSION}")
            }
        }
    }
}

impl std::error::Error for AnswerError {}

impl Field {
    /// A field of this name and content.
    pub fn new(name: impl Into<String>, value: Value) -> Field {
        Field { name: name.into(), value }
    }

    fn to_json(&self) -> Json {
        let float = |value: f64, name| match value {
            value if value.is_finite() => json!([self.name, name, value]),
            value if value.is_nan() => json!([self.name, name, "nan"]),
            value => json!([self.name, name, if value > 0.0 { "inf" } else { "-inf" }]),
        };
        match &self.value {
            // Beyond 64 bits as text, which JSON numbers do not reach.
            Value::Integer(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => json!([self.name, "int", value]),
                (_, Ok(value)) => json!([self.name, "int", value]),
                _ => json!([self.name, "int", value.to_string()]),
            },
            Value::Single(value) => float((*value).into(), "f32"),
            Value::Double(value) => float(*value, "f64"),
            Value::Text(value) => json!([self.name, "text", value]),
            Value::Flag(value) => json!([self.name, "bool", value]),
        }
    }

    fn from_json(json: Json) -> Option<Field> {
        let Json::Array(parts) = json else { return None };
        let [Json::String(name), Json::String(kind), value] = <[Json; 3]>::try_from(parts).ok()? else { return None };
        if name.is_empty() || name.len() > MOST_NAME_BYTES {
            return None;
        }
        let float = |value: &Json| match value {
            Json::Number(number) => number.as_f64(),
            Json::String(text) => match text.as_str() {
                "nan" => Some(f64::NAN),
                "inf" => Some(f64::INFINITY),
                "-inf" => Some(f64::NEG_INFINITY),
                _ => None,
            },
            _ => None,
        };
        let value = match (kind.as_str(), value) {
            ("int", Json::Number(number)) => {
                Value::Integer(number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))?)
            }
            ("int", Json::String(digits)) => Value::Integer(digits.parse().ok()?),
            ("f32", value) => Value::Single(float(&value)? as f32),
            ("f64", value) => Value::Double(float(&value)?),
            ("text", Json::String(text)) => Value::Text(text),
            ("bool", Json::Bool(flag)) => Value::Flag(flag),
            _ => return None,
        };
        Some(Field { name, value })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => write!(f, "{value}"),
            Value::Single(value) => write!(f, "{value}"),
            Value::Double(value) => write!(f, "{value}"),
            Value::Text(value) => write!(f, "{value:?}"),
            Value::Flag(value) => write!(f, "{value}"),
        }
    }
}

impl Reply {
    /// The line, with its end.
    pub fn to_line(&self) -> String {
        let mut line = Map::new();
        line.insert("n".to_owned(), self.number.into());
        match &self.answer {
            Decoded::Opaque(why) if why.is_empty() => {}
            Decoded::Opaque(why) => _ = line.insert("note".to_owned(), why.as_str().into()),
            Decoded::Held => _ = line.insert("held".to_owned(), true.into()),
            Decoded::Fields(fields) => {
                line.insert("fields".to_owned(), fields.iter().map(Field::to_json).collect());
            }
        }
        format!("{}\n", Json::Object(line))
    }

    /// Reads a line.
    ///
    /// # Errors
    /// [`AnswerError`] if it is no answer to a datagram.
    pub fn from_line(line: &[u8]) -> Result<Reply, AnswerError> {
        let mut object = object(line)?;
        let number = object.remove("n").and_then(|n| n.as_u64()).ok_or(AnswerError::Key("n"))?;
        let mut answer = None;
        if let Some(note) = object.remove("note") {
            let Json::String(note) = note else { return Err(AnswerError::Key("note")) };
            answer = Some(Decoded::Opaque(note));
        }
        if let Some(is_partial) = object.remove("held") {
            if is_partial != Json::Bool(true) || answer.is_some() {
                return Err(AnswerError::Key("held"));
            }
            answer = Some(Decoded::Held);
        }
        if let Some(fields) = object.remove("fields") {
            let Json::Array(fields) = fields else { return Err(AnswerError::Key("fields")) };
            if answer.is_some() {
                return Err(AnswerError::Key("fields"));
            }
            if fields.len() > MOST_FIELDS {
                return Err(AnswerError::Fields(fields.len()));
            }
            let read = fields.into_iter().enumerate();
            let read = read.map(|(at, field)| Field::from_json(field).ok_or(AnswerError::Field(at)));
            answer = Some(Decoded::Fields(read.collect::<Result<_, _>>()?));
        }
        match object.into_iter().next() {
            Some((key, _)) => Err(AnswerError::Unknown(key)),
            None => Ok(Reply { number, answer: answer.unwrap_or(Decoded::Opaque(String::new())) }),
        }
    }
}

fn object(line: &[u8]) -> Result<Map<String, Json>, AnswerError> {
    if line.len() > MOST_LINE_BYTES {
        return Err(AnswerError::NotJson);
    }
    match serde_json::from_slice(line) {
        Ok(Json::Object(object)) => Ok(object),
        _ => Err(AnswerError::NotJson),
    }
}

/// The line with which a decoder answers the greeting.
pub fn hello(name: &str) -> String {
    format!("{}\n", json!({ "decoder": name, "version": VERSION }))
}

/// Name of the decoder that answers the greeting with this line.
///
/// # Errors
/// [`AnswerError`] if it is no such answer, or of another version.
pub fn read_hello(line: &[u8]) -> Result<String, AnswerError> {
    let object = object(line)?;
    let name = object.get("decoder").and_then(Json::as_str).filter(|name| name.len() <= MOST_NAME_BYTES);
    let name = name.ok_or(AnswerError::Key("decoder"))?;
    match object.get("version").and_then(Json::as_u64) {
        Some(version) if version == u64::from(VERSION) => Ok(name.to_owned()),
        Some(version) => Err(AnswerError::Version(version)),
        None => Err(AnswerError::Key("version")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_mistake_of_a_line_is_named() {
        let cases: [(&str, AnswerError); 13] = [
            ("hello", AnswerError::NotJson),
            ("[1]", AnswerError::NotJson),
            ("{}", AnswerError::Key("n")),
            (r#"{"n":-1}"#, AnswerError::Key("n")),
            (r#"{"n":1,"held":false}"#, AnswerError::Key("held")),
            (r#"{"n":1,"held":true,"note":"x"}"#, AnswerError::Key("held")),
            (r#"{"n":1,"fields":{}}"#, AnswerError::Key("fields")),
            (r#"{"n":1,"fields":[],"held":true}"#, AnswerError::Key("fields")),
            (r#"{"n":1,"fields":[["a","int",1],["b","int",1.5]]}"#, AnswerError::Field(1)),
            (r#"{"n":1,"fields":[["","int",1]]}"#, AnswerError::Field(0)),
            (r#"{"n":1,"fields":[["a","i32",1]]}"#, AnswerError::Field(0)),
            (r#"{"n":1,"fields":[["a","int"]]}"#, AnswerError::Field(0)),
            (r#"{"n":1,"field":[]}"#, AnswerError::Unknown("field".to_owned())),
        ];
        for (line, error) in cases {
            assert_eq!(Reply::from_line(line.as_bytes()), Err(error), "{line}");
        }
        assert_eq!(read_hello(br#"{"decoder":"x","version":2}"#), Err(AnswerError::Version(2)));
        assert_eq!(read_hello(br#"{"version":1}"#), Err(AnswerError::Key("decoder")));
        assert_eq!(read_hello(hello("x 1").as_bytes()), Ok("x 1".to_owned()));
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i128>().prop_map(Value::Integer),
            any::<u64>().prop_map(|value| Value::Integer(value.into())),
            any::<f32>().prop_filter("NaN is not equal to itself", |value| !value.is_nan()).prop_map(Value::Single),
            any::<f64>().prop_filter("NaN is not equal to itself", |value| !value.is_nan()).prop_map(Value::Double),
            "\\PC{0,20}".prop_map(Value::Text),
            any::<bool>().prop_map(Value::Flag),
        ]
    }

    fn answer() -> impl Strategy<Value = Decoded> {
        let field = ("\\PC{1,20}", value()).prop_map(|(name, value)| Field { name, value });
        prop_oneof![
            "\\PC{0,20}".prop_map(Decoded::Opaque),
            Just(Decoded::Held),
            proptest::collection::vec(field, 0..8).prop_map(Decoded::Fields),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number in any::<u64>(), answer in answer()) {
            let reply = Reply { number, answer };
            let line = reply.to_line();
            prop_assert_eq!(line.matches('\n').count(), 1);
            prop_assert_eq!(Reply::from_line(line.trim_end_matches('\n').as_bytes()), Ok(reply));
        }

        #[test]
        fn no_line_makes_the_reader_panic(line in "\\PC{0,100}") {
            let _ = (Reply::from_line(line.as_bytes()), read_hello(line.as_bytes()));
        }
    }
}
