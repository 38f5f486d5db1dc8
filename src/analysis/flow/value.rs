//! What is known about an expression, and how two such things are joined.

/// What is known about an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// Written in the source, or made harmless. Text when it is a string.
    Constant(Option<String>),
    /// A string put together from at least one part that is not constant; holds the literal parts.
    Built(String),
    /// Anything.
    Opaque,
}

/// A string made of both, or a collection of both.
pub(super) fn combine(left: Value, right: Value) -> Value {
    use Value::{Built, Constant, Opaque};
    match (left, right) {
        (Constant(None), Constant(None)) => Constant(None),
        (Constant(a), Constant(b)) => Constant(Some(a.unwrap_or_default() + &b.unwrap_or_default())),
        (Constant(Some(a)), Opaque) => Built(a + "{}"),
        (Opaque, Constant(Some(b))) => Built("{}".to_owned() + &b),
        (Built(a), Built(b)) => Built(a + &b),
        (Built(a), Constant(b)) => Built(a + &b.unwrap_or_default()),
        (Constant(a), Built(b)) => Built(a.unwrap_or_default() + &b),
        (Built(a), Opaque) => Built(a + "{}"),
        (Opaque, Built(b)) => Built("{}".to_owned() + &b),
        (Opaque | Constant(None), Opaque) | (Opaque, Constant(None)) => Opaque,
    }
}

/// One of both; the more dangerous one counts.
pub(super) fn either(left: Value, right: Value) -> Value {
    use Value::{Built, Constant, Opaque};
    match (left, right) {
        (Built(a), _) | (_, Built(a)) => Built(a),
        (Opaque, _) | (_, Opaque) => Opaque,
        (Constant(a), Constant(b)) => Constant(a.or(b)),
    }
}

pub(super) fn is_text(value: &Value) -> bool {
    matches!(value, Value::Constant(Some(_)) | Value::Built(_))
}

pub(super) fn is_constant_text(value: &Value) -> bool {
    matches!(value, Value::Constant(Some(_)))
}
