//! What is in the arguments of a request.

use serde_json::Value;

/// An object of which nothing is sure: what is missing or of another type is `None`.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a>(&'a Value);

impl<'a> Args<'a> {
    /// The fields of a value.
    pub fn new(value: &'a Value) -> Args<'a> {
        Args(value)
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    /// A text that has more than blanks.
    pub fn words(&self, name: &str) -> Option<&'a str> {
        self.text(name).map(str::trim).filter(|text| !text.is_empty())
    }

    /// A whole number, also if it is written as `3.0` or `"3"`.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.0.get(name)? {
            Value::Number(number) => number.as_i64().or_else(|| {
                let float = number.as_f64()?;
                let is_whole = float.fract() == 0.0 && float.abs() < 9e15;
                is_whole.then_some(float as i64)
            }),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// A number that counts something, so that it is not below 0.
    pub fn count(&self, name: &str) -> Option<usize> {
        self.int(name).and_then(|number| usize::try_from(number).ok())
    }

    /// Whether a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// A flag, if there is one.
    pub fn maybe_flag(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    /// An object; one without fields if it is missing.
    pub fn object(&self, name: &str) -> Args<'a> {
        Args(self.0.get(name).unwrap_or(&Value::Null))
    }

    /// The elements of an array; none if it is missing.
    pub fn array(&self, name: &str) -> &'a [Value] {
        self.0.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Whether there is such a field, of whatever type.
    pub fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wrong_types_are_missing_fields() {
        let value = json!({"a": 3.0, "b": "4", "c": 1.5, "d": [1], "e": -1, "f": " ", "g": 1e300});
        let args = Args::new(&value);
        let ints = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| args.int(name));
        assert_eq!(ints, [Some(3), Some(4), None, None, Some(-1), None, None, None]);
        assert_eq!((args.count("e"), args.words("f"), args.text("f")), (None, None, Some(" ")));
        assert_eq!((args.array("d").len(), args.array("a").len()), (1, 0));
        assert_eq!(args.object("a").object("b").text("c"), None);
        assert!(!args.flag("a") && args.maybe_flag("a").is_none() && args.has("a"));
    }
}
