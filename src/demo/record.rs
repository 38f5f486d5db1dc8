//! What reached the box and what it delivered, one JSON object a line: material for checks by programs of others.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::state::{Call, Delivery};

/// Lines are appended, so that several boxes may write to one file.
pub struct Record(Mutex<File>);

impl Record {
    /// Begins with the secret that this box signs with: it guards nothing once the box is gone, and without it nobody could
    /// check the signatures. Tokens and keys are never written.
    pub fn open(path: &Path, webhook_secret: &str) -> io::Result<Self> {
        let record = Self(Mutex::new(OpenOptions::new().create(true).append(true).open(path)?));
        record.line(&json!({"box": {"webhook_secret": webhook_secret}}));
        Ok(record)
    }

    pub fn call(&self, call: &Call) {
        self.line(&json!({"call": call}));
    }

    pub fn delivery(&self, delivery: &Delivery) {
        self.line(&json!({"delivery": {
            "event": delivery.event,
            "headers": delivery.request_headers,
            "payload": delivery.payload,
            "status": delivery.status_code,
        }}));
    }

    fn line(&self, value: &Value) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One write a line: what several boxes append does not mix.
        if let Err(error) = file.write_all(format!("{value}\n").as_bytes()) {
            tracing::error!(%error, "a line is missing from the record");
        }
    }
}
