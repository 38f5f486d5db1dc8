//! How the box says no: GitHub's status, message and `errors`.

use serde_json::{Value, json};

/// An answer other than success, in the shape GitHub uses.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub status: u16,
    pub message: String,
    pub errors: Vec<Value>,
    pub headers: Vec<(String, String)>,
}

impl Refusal {
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), errors: Vec::new(), headers: Vec::new() }
    }

    pub fn not_found() -> Self {
        Self::new(404, "Not Found")
    }

    pub fn forbidden() -> Self {
        Self::new(403, "Resource not accessible by integration")
    }

    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(401, message)
    }

    /// 422 with one plain sentence under `errors`, as reviews are refused.
    pub fn unprocessable(error: impl Into<String>) -> Self {
        let mut refusal = Self::new(422, "Unprocessable Entity");
        refusal.errors.push(Value::String(error.into()));
        refusal
    }

    /// 422 that names the resource and the field.
    pub fn invalid(resource: &str, field: &str, code: &str, message: impl Into<String>) -> Self {
        let mut refusal = Self::new(422, "Validation Failed");
        refusal.errors.push(json!({"resource": resource, "field": field, "code": code, "message": message.into()}));
        refusal
    }

    #[must_use]
    pub fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub fn body(&self) -> Value {
        let mut body = json!({
            "message": self.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": self.status.to_string(),
        });
        if !self.errors.is_empty() {
            body["errors"] = Value::Array(self.errors.clone());
        }
        body
    }

    /// Message and errors in one line, for people's acts and the call log.
    pub fn text(&self) -> String {
        let errors: Vec<String> = self
            .errors
            .iter()
            .map(|e| e.as_str().map_or_else(|| e["message"].as_str().unwrap_or_default().to_owned(), str::to_owned))
            .collect();
        if errors.is_empty() { self.message.clone() } else { format!("{}: {}", self.message, errors.join("; ")) }
    }
}

impl From<git2::Error> for Refusal {
    fn from(error: git2::Error) -> Self {
        Self::new(500, format!("the box could not read its repository: {}", error.message()))
    }
}

impl From<Refusal> for super::Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused { status: refusal.status, reason: refusal.text() }
    }
}
