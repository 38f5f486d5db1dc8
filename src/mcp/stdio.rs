//! Standard input and output: one JSON-RPC message a line, and nothing else.
//!
//! The SDK passes over what is no JSON, and forgets requests that are under way when the input ends. A client deserves an answer to
//! either, so lines are looked at here on their way in, and counted on their way out.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ServiceExt;
use rmcp::model::ClientJsonRpcMessage;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Notify, mpsc};

use super::Server;
use super::roots::shown;

/// A longer line is no message.
const LONGEST: usize = 4 << 20;
/// What fits between the parts before one waits for the other.
const PIPE: usize = 64 * 1024;
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;

/// Serves one client until its input ends; requests that are under way then are still answered.
///
/// # Errors
/// Output that cannot be written.
pub async fn serve(
    server: Server,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> std::io::Result<()> {
    let (to_sdk, sdk_in) = tokio::io::duplex(PIPE);
    let (sdk_out, from_sdk) = tokio::io::duplex(PIPE);
    let (lines, to_write) = mpsc::channel::<Vec<u8>>(64);
    let open = Arc::new(Open::default());
    let reading = tokio::spawn(read(BufReader::new(input), to_sdk, lines.clone(), Arc::clone(&open)));
    let relaying = tokio::spawn(relay(BufReader::new(from_sdk), lines, Arc::clone(&open)));
    let mut writing = tokio::spawn(write(to_write, output));
    let session = async {
        match server.serve((sdk_in, sdk_out)).await {
            Ok(running) => {
                let _ended = running.waiting().await;
            }
            // A client that went before it had introduced itself, or spoke of something else first: it was told.
            Err(error) => tracing::debug!("no session: {error}"),
        }
    };
    tokio::select! {
        () = session => {}
        // Nobody reads what would be answered, though the input may stay open.
        written = &mut writing => {
            reading.abort();
            relaying.abort();
            return written.map_err(std::io::Error::other)?;
        }
    }
    reading.abort();
    let _relayed = relaying.await;
    writing.await.map_err(std::io::Error::other)?
}

/// Requests that have no answer yet, by their ids.
#[derive(Default)]
struct Open {
    ids: Mutex<HashSet<String>>,
    answered: Notify,
}

impl Open {
    fn ids(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message that the client sent: a request waits for its answer, a cancelled one for nothing.
    fn sent(&self, message: &Value) {
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(_), Some(id)) => {
                self.ids().insert(id.to_string());
            }
            (Some("notifications/cancelled"), None) => {
                if let Some(id) = message.pointer("/params/requestId") {
                    self.settle(id);
                }
            }
            _ => {}
        }
    }

    fn settle(&self, id: &Value) {
        self.ids().remove(&id.to_string());
        self.answered.notify_one();
    }

    /// Until every request has its answer.
    async fn settled(&self) {
        while !self.ids().is_empty() {
            self.answered.notified().await;
        }
    }
}

/// Lines of the client on their way in.
async fn read(
    mut input: impl AsyncBufReadExt + Send + Unpin,
    mut to_sdk: impl AsyncWrite + Send + Unpin,
    answers: mpsc::Sender<Vec<u8>>,
    open: Arc<Open>,
) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let refused = match next(&mut input, &mut line).await {
            Ok(Line::End) => break,
            Err(error) => {
                tracing::debug!("the input cannot be read: {error}");
                break;
            }
            Ok(Line::TooLong) => {
                Some(refusal(&Value::Null, INVALID_REQUEST, &format!("the line is longer than {LONGEST} bytes")))
            }
            Ok(Line::Whole) if line.trim_ascii().is_empty() => continue,
            Ok(Line::Whole) => match serde_json::from_slice::<Value>(&line) {
                Err(error) => Some(refusal(&Value::Null, PARSE_ERROR, &format!("the line is no JSON: {error}"))),
                Ok(Value::Array(_)) => Some(refusal(
                    &Value::Null,
                    INVALID_REQUEST,
                    "batches are not part of the protocol: send one message a line",
                )),
                Ok(message) if !message.is_object() => {
                    Some(refusal(&Value::Null, INVALID_REQUEST, "a message is a JSON object"))
                }
                Ok(message) => match fault(&message) {
                    // An empty one stands for silence.
                    Some(refusal) => Some(refusal.unwrap_or_default()),
                    None => {
                        open.sent(&message);
                        None
                    }
                },
            },
        };
        let sent = match refused {
            Some(refusal) if refusal.is_empty() => true,
            Some(refusal) => answers.send(refusal).await.is_ok(),
            None => {
                line.push(b'\n');
                to_sdk.write_all(&line).await.is_ok()
            }
        };
        if !sent {
            return;
        }
    }
    // The SDK ends with its input: not before every answer is out.
    open.settled().await;
    drop(to_sdk);
}

enum Line {
    Whole,
    TooLong,
    End,
}

/// The next line, without its end; the rest of one that is too long is passed over. A last line needs no end.
async fn next(input: &mut (impl AsyncBufReadExt + Unpin), line: &mut Vec<u8>) -> std::io::Result<Line> {
    let most = LONGEST as u64 + 1;
    let read = (&mut *input).take(most).read_until(b'\n', line).await?;
    if read == 0 {
        return Ok(Line::End);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Line::Whole);
    }
    if line.len() <= LONGEST {
        return Ok(Line::Whole);
    }
    loop {
        line.clear();
        let read = (&mut *input).take(most).read_until(b'\n', line).await?;
        if read == 0 || line.last() == Some(&b'\n') {
            return Ok(Line::TooLong);
        }
    }
}

/// What to say of a message that has not the form of one; nothing at all where it is a notification, which nobody answers.
fn fault(message: &Value) -> Option<Option<Vec<u8>>> {
    let error = ClientJsonRpcMessage::deserialize(message).err()?;
    let method = message.get("method").and_then(Value::as_str);
    let id = message.get("id").filter(|id| id.is_string() || id.is_i64());
    Some(match (method, id) {
        (Some(_), None) if message.get("id").is_none() => None,
        (Some(method), Some(id)) if message.get("jsonrpc").is_some_and(|version| version == "2.0") => Some(refusal(
            id,
            INVALID_PARAMS,
            &format!("the parameters of `{}` do not have its form: {error}", shown(method)),
        )),
        (_, id) => Some(refusal(
            id.unwrap_or(&Value::Null),
            INVALID_REQUEST,
            "this is no JSON-RPC 2.0 request of the protocol",
        )),
    })
}

/// An error of the protocol. Where no id could be read it has none: the protocol's schema knows no null there, as JSON-RPC does.
fn refusal(id: &Value, code: i64, message: &str) -> Vec<u8> {
    let mut refusal = json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message } });
    if !id.is_null() {
        refusal["id"] = id.clone();
    }
    refusal.to_string().into_bytes()
}

/// What the SDK says, on its way out.
async fn relay(mut from_sdk: impl AsyncBufReadExt + Send + Unpin, lines: mpsc::Sender<Vec<u8>>, open: Arc<Open>) {
    loop {
        let mut line = Vec::new();
        match from_sdk.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        let id = answered(&line);
        if lines.send(line).await.is_err() {
            return;
        }
        if let Some(id) = id {
            open.settle(&id);
        }
    }
}

/// The request that a message answers.
fn answered(line: &[u8]) -> Option<Value> {
    #[derive(serde::Deserialize)]
    struct Message {
        id: Option<Value>,
        method: Option<serde::de::IgnoredAny>,
    }
    let message: Message = serde_json::from_slice(line).ok()?;
    message.id.filter(|_| message.method.is_none())
}

async fn write(mut lines: mpsc::Receiver<Vec<u8>>, mut output: impl AsyncWrite + Unpin) -> std::io::Result<()> {
    while let Some(mut line) = lines.recv().await {
        line.push(b'\n');
        let written = match output.write_all(&line).await {
            Ok(()) => output.flush().await,
            failed => failed,
        };
        match written {
            // Whoever read us is gone: there is nobody to tell.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}
