//! A value inside a document, with the path that leads to it.

use serde_json::Value;

use super::fault::{Fault, step};

/// What does not stand there is null here: that it is missing, the schema says.
pub(super) struct Place<'a> {
    pub value: &'a Value,
    pub path: String,
}

impl<'a> Place<'a> {
    pub fn whole(value: &'a Value) -> Self {
        Self { value, path: String::new() }
    }

    pub fn at(&self, field: &str) -> Self {
        static NOTHING: Value = Value::Null;
        let mut path = self.path.clone();
        step(&mut path, field);
        Self { value: self.value.get(field).unwrap_or(&NOTHING), path }
    }

    /// The entries of a list.
    pub fn entries(&self) -> impl Iterator<Item = Self> {
        let entries = self.value.as_array().into_iter().flatten().enumerate();
        entries.map(|(at, value)| Self { value, path: format!("{}[{at}]", self.path) })
    }

    /// The values of a map.
    pub fn values(&self) -> impl Iterator<Item = (&'a str, Self)> {
        self.value.as_object().into_iter().flatten().map(|(key, _)| (key.as_str(), self.at(key)))
    }

    pub fn text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    pub fn count(&self) -> Option<u64> {
        self.value.as_u64()
    }

    pub fn length(&self) -> Option<u64> {
        self.value.as_array().map(|list| list.len() as u64)
    }

    pub fn error(&self, message: impl Into<String>) -> Fault {
        Fault::error(self.path.clone(), message)
    }

    pub fn warning(&self, message: impl Into<String>) -> Fault {
        Fault::warning(self.path.clone(), message)
    }
}
