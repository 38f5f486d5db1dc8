//! What every message has, whatever it carries (S3.2 to S3.6, A3.4).

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::content::{self, Content, MessageType};
use super::part::{Faults, Part, field, rename};
use super::{AgentName, MessageId, Timestamp};
use crate::domain::Millis;

/// Which message comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
    Urgent,
}

impl Part for Priority {}

/// How long a message is worth handling, in seconds from its timestamp on.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Timeout(f64);

impl Timeout {
    /// `None` when it is below 0 or not finite.
    pub fn seconds(seconds: f64) -> Option<Self> {
        (seconds >= 0.0 && seconds.is_finite()).then_some(Self(seconds))
    }
}

impl Serialize for Timeout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Readers of other languages may want a whole number, and usually it is one.
        let whole = self.0 as u64;
        if whole as f64 == self.0 { serializer.serialize_u64(whole) } else { serializer.serialize_f64(self.0) }
    }
}

impl<'de> Deserialize<'de> for Timeout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Self::seconds(seconds).ok_or_else(|| serde::de::Error::custom(format!("{seconds} is below 0")))
    }
}

impl Part for Timeout {}

/// A message whose frame is sound. What it carries is an open map until [`Envelope::content`] reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
// The derived reader is private: it knows neither the second names nor who may receive.
#[serde(remote = "Self")]
pub struct Envelope {
    pub message_id: MessageId,
    pub from: AgentName,
    pub to: AgentName,
    #[serde(rename = "type")]
    pub message_type: MessageType,
    pub timestamp: Timestamp,
    pub content: Map<String, Value>,
    #[serde(default, deserialize_with = "or_default")]
    pub priority: Priority,
    /// The message that this one answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
}

fn or_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Priority, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl Serialize for Envelope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl Envelope {
    /// Reads a message's file.
    ///
    /// # Errors
    /// All faults of the frame, each with its JSON path; what it carries is not looked at.
    pub fn parse(bytes: &[u8]) -> Result<Self, Vec<String>> {
        let value = serde_json::from_slice(bytes).map_err(|error| vec![format!("$: not JSON: {error}")])?;
        Self::from_value(value)
    }

    /// # Errors
    /// As [`Envelope::parse`].
    pub fn from_value(value: Value) -> Result<Self, Vec<String>> {
        let mut faults = Faults::default();
        check(&value, &mut faults);
        match value {
            Value::Object(mut map) if faults.is_empty() => {
                rename(&mut map, "from_agent", "from");
                rename(&mut map, "to_agent", "to");
                Self::deserialize(Value::Object(map)).map_err(|error| vec![format!("$: {error}")])
            }
            _ => Err(faults.into_vec()),
        }
    }

    /// The content as the type asks for it.
    ///
    /// # Errors
    /// All faults, each with its JSON path.
    pub fn content(&self) -> Result<Content, Vec<String>> {
        Content::read(self.message_type, &self.content)
    }

    /// From when on nobody need handle it; `None` if it is always worth it.
    pub fn expires_at(&self) -> Option<Millis> {
        expiry(self.timestamp, self.timeout)
    }

    /// An answer to the sender, in the same priority.
    pub fn answer(&self, content: impl Into<Content>) -> Draft {
        Draft::new(self.to, self.from, content).reply_to(self.message_id.clone()).priority(self.priority)
    }

    /// The bytes of its file.
    pub(super) fn to_json(&self) -> Vec<u8> {
        // Its maps have text for keys and its numbers are finite: it can always be written.
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

pub(super) fn expiry(timestamp: Timestamp, timeout: Option<Timeout>) -> Option<Millis> {
    // The cast saturates: a timeout of a million years is one that never comes.
    timeout.map(|timeout| timestamp.millis().saturating_add((timeout.0 * 1000.0) as Millis))
}

fn check(value: &Value, faults: &mut Faults) {
    let Some(map) = value.as_object() else {
        return faults.push("$", "not an object");
    };
    field::<MessageId>(map, "message_id", None, "$", faults);
    field::<AgentName>(map, "from", Some("from_agent"), "$", faults);
    field::<Receiver>(map, "to", Some("to_agent"), "$", faults);
    field::<MessageType>(map, "type", None, "$", faults);
    field::<Timestamp>(map, "timestamp", None, "$", faults);
    field::<Map<String, Value>>(map, "content", None, "$", faults);
    field::<Option<Priority>>(map, "priority", None, "$", faults);
    field::<Option<MessageId>>(map, "reply_to", None, "$", faults);
    field::<Option<Timeout>>(map, "timeout", None, "$", faults);
}

/// Who may stand in `to`.
#[derive(Deserialize)]
#[serde(try_from = "AgentName")]
struct Receiver;

impl TryFrom<AgentName> for Receiver {
    type Error = String;

    fn try_from(agent: AgentName) -> Result<Self, String> {
        if agent.receives() { Ok(Self) } else { Err(format!("{agent} has no inbox, it only sends")) }
    }
}

impl Part for Receiver {}

/// Everything that is wrong with a message, frame and content, each fault with its JSON path; empty when it is sound (S3.22).
pub fn faults(message: &Value) -> Vec<String> {
    let mut faults = Faults::default();
    check(message, &mut faults);
    let message_type = message.get("type").and_then(|word| MessageType::deserialize(word).ok());
    if let (Some(message_type), Some(content)) = (message_type, message.get("content").filter(|c| c.is_object())) {
        content::check(message_type, content, "$.content", &mut faults);
    }
    faults.into_vec()
}

/// Whether a message is sound, frame and content (S3.22).
pub fn validate_message(message: &Value) -> bool {
    faults(message).is_empty()
}

/// A message before it is sent: the bus gives it its id and its time (S3.21).
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub(super) from: AgentName,
    pub(super) to: AgentName,
    pub(super) message_type: MessageType,
    pub(super) content: Map<String, Value>,
    pub(super) priority: Priority,
    pub(super) reply_to: Option<MessageId>,
    pub(super) timeout: Option<Timeout>,
    pub(super) id: Option<MessageId>,
}

impl Draft {
    /// A message of the type that its content belongs to. Signs of life have low priority, everything else normal.
    pub fn new(from: AgentName, to: AgentName, content: impl Into<Content>) -> Self {
        let content = content.into();
        Self::untyped(from, to, content.message_type(), content.to_map())
    }

    /// The same with a content that is checked when it is sent.
    pub fn untyped(from: AgentName, to: AgentName, message_type: MessageType, content: Map<String, Value>) -> Self {
        let priority = match message_type {
            MessageType::Heartbeat | MessageType::SystemStatus => Priority::Low,
            MessageType::TaskAssignment
            | MessageType::TaskAcceptance
            | MessageType::TaskProgress
            | MessageType::ResearchResult
            | MessageType::ValidationRequest
            | MessageType::ValidationResult
            | MessageType::ErrorReport => Priority::Normal,
        };
        Self { from, to, message_type, content, priority, reply_to: None, timeout: None, id: None }
    }

    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    pub fn reply_to(mut self, id: MessageId) -> Self {
        self.reply_to = Some(id);
        self
    }

    pub fn timeout(mut self, timeout: Timeout) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sends it under an id that [`super::Bus::draw`] gave, so that what depends on the id can be ready before anybody reads it.
    pub fn id(mut self, id: MessageId) -> Self {
        self.id = Some(id);
        self
    }

    pub(super) fn seal(self, message_id: MessageId, at: Millis) -> Envelope {
        Envelope {
            message_id,
            from: self.from,
            to: self.to,
            message_type: self.message_type,
            timestamp: Timestamp::from_millis(at),
            content: self.content,
            priority: self.priority,
            reply_to: self.reply_to,
            timeout: self.timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The seed's example of an assignment, byte for byte.
    const ASSIGNMENT: &str = r#"{
  "message_id": "pm_20241220_150000_001",
  "from": "product_manager",
  "to": "research_agent_1",
  "type": "task_assignment",
  "timestamp": "2024-12-20T15:00:00Z",
  "content": {
    "task_type": "forex_research",
    "focus_area": "Asia/G10",
    "target_pairs": ["USD/JPY", "EUR/USD", "GBP/USD"],
    "timeframe": "this_week",
    "data_sources": ["alpha_vantage", "newsapi"],
    "deadline": "2024-12-20T17:00:00Z",
    "output_format": "structured_json",
    "special_instructions": "Focus on central bank policy impacts"
  },
  "priority": "high"
}"#;

    /// Its example of a result, with something for `{...}`.
    const RESULT: &str = r#"{
  "message_id": "ra1_20241220_170000_001",
  "from": "research_agent_1",
  "to": "product_manager",
  "type": "research_result",
  "timestamp": "2024-12-20T17:00:00Z",
  "content": {
    "task_id": "pm_20241220_150000_001",
    "status": "completed",
    "execution_time_minutes": 45.2,
    "data_points_collected": 127,
    "sources_accessed": ["alpha_vantage", "newsapi"],
    "key_findings": [
      "USD/JPY showing strength on Fed pause speculation",
      "EUR/USD under pressure from ECB growth concerns"
    ],
    "raw_data": {
      "forex_rates": {"USD/JPY": 157.3},
      "news_articles": {"count": 2}
    },
    "confidence_score": 0.87,
    "data_freshness_hours": 2.3,
    "warnings": ["Alpha Vantage rate limit reached, used cached data for 10% of requests"]
  }
}"#;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Value), want: &[&str]) {
        let mut message = value(ASSIGNMENT);
        change(&mut message);
        assert_eq!(faults(&message), want);
        assert_eq!(validate_message(&message), want.is_empty());
    }

    #[test]
    fn the_published_examples_are_read_and_written_again_as_they_were() {
        for example in [ASSIGNMENT, RESULT] {
            assert_eq!(faults(&value(example)), [""; 0]);
            let envelope = Envelope::parse(example.as_bytes()).unwrap();
            let mut want = value(example);
            want.as_object_mut().unwrap().entry("priority").or_insert(json!("normal"));
            assert_eq!(value(&String::from_utf8(envelope.to_json()).unwrap()), want);
            let content = envelope.content().unwrap();
            assert_eq!(content.message_type(), envelope.message_type);
            assert_eq!(Value::Object(content.to_map()), want["content"]);
        }
    }

    #[test]
    fn a_sender_may_write_the_names_of_the_fields() {
        let mut message = value(RESULT);
        let map = message.as_object_mut().unwrap();
        for name in ["from", "to"] {
            let agent = map.remove(name).unwrap();
            map.insert(format!("{name}_agent"), agent);
        }
        assert!(validate_message(&message));
        let envelope = Envelope::from_value(message.clone()).unwrap();
        assert_eq!((envelope.from, envelope.to), (AgentName::ResearchAgent1, AgentName::ProductManager));
        let written = value(&String::from_utf8(envelope.to_json()).unwrap());
        assert!(written.get("from_agent").is_none() && written["from"] == "research_agent_1");
        // Both: the first name counts, the second is a field that nobody knows.
        message["from"] = json!("coder");
        assert_eq!(Envelope::from_value(message).unwrap().from, AgentName::Coder);
    }

    #[test]
    fn what_other_serializers_write_is_read() {
        check(|message| message["reply_to"] = Value::Null, &[]);
        check(|message| message["timeout"] = Value::Null, &[]);
        check(|message| message["priority"] = Value::Null, &[]);
        check(|message| message["timestamp"] = json!("2024-12-20T15:00:00.123456"), &[]);
        check(|message| message["trace"] = json!({"span": 1}), &[]);
        check(|message| message["content"]["mood"] = json!("good"), &[]);
        let mut message = value(ASSIGNMENT);
        message["timestamp"] = json!("2024-12-20T15:00:00");
        let written = String::from_utf8(Envelope::from_value(message).unwrap().to_json()).unwrap();
        assert_eq!(value(&written)["timestamp"], "2024-12-20T15:00:00Z");
    }

    #[test]
    fn every_fault_of_the_frame_is_named_with_its_path() {
        check(|message| *message = json!([]), &["$: not an object"]);
        check(
            |message| *message = json!({"content": {}, "type": "task_assignment"}),
            &[
                "$.message_id: missing",
                "$.from: missing",
                "$.to: missing",
                "$.timestamp: missing",
                "$.content.task_type: missing",
                "$.content.focus_area: missing",
                "$.content.target_pairs: missing",
                "$.content.timeframe: missing",
                "$.content.data_sources: missing",
                "$.content.deadline: missing",
                "$.content.output_format: missing",
            ],
        );
        check(|message| message["to"] = json!("webhook"), &["$.to: webhook has no inbox, it only sends"]);
        check(|message| message["from"] = json!("webhook"), &[]);
        check(|message| message["from"] = json!("reviewer"), &["$.from: no agent is called \"reviewer\""]);
        check(|message| message["content"] = json!("text"), &["$.content: is the text \"text\", expected an object"]);
        check(|message| message["timeout"] = json!(-1), &["$.timeout: -1 is below 0"]);
        check(|message| message["timeout"] = json!(0), &[]);
        check(|message| message["timeout"] = json!(1.5), &[]);
        for (field, wrong) in [
            ("message_id", json!("../../etc/passwd_20241220_150000_001")),
            ("message_id", json!(7)),
            ("reply_to", json!("")),
            ("type", json!("task_assigned")),
            ("priority", json!("critical")),
            ("timestamp", json!("yesterday")),
            ("timeout", json!("30")),
        ] {
            let mut message = value(ASSIGNMENT);
            message[field] = wrong.clone();
            let told = faults(&message);
            assert!(told.len() == 1 && told[0].starts_with(&format!("$.{field}: ")), "{field} {wrong}: {told:?}");
            assert_eq!(Envelope::from_value(message).unwrap_err(), told);
        }
    }

    #[test]
    fn what_is_no_json_is_no_message() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for bytes in [&b""[..], b"{", b"\xff\xfe", b"{\"a\":NaN}", deep.as_bytes()] {
            let told = Envelope::parse(bytes).unwrap_err();
            assert!(told.len() == 1 && told[0].starts_with("$: not JSON: "), "{told:?}");
        }
    }

    #[test]
    fn an_answer_goes_back_to_whom_it_answers() {
        let assignment = Envelope::parse(ASSIGNMENT.as_bytes()).unwrap();
        let result = Envelope::parse(RESULT.as_bytes()).unwrap().content().unwrap();
        let answer = assignment.answer(result).seal(MessageId::counted(AgentName::ResearchAgent1, 0, 1), 0);
        assert_eq!((answer.from, answer.to), (AgentName::ResearchAgent1, AgentName::ProductManager));
        assert_eq!(answer.message_type, MessageType::ResearchResult);
        assert_eq!((answer.reply_to, answer.priority), (Some(assignment.message_id), Priority::High));
    }

    #[test]
    fn a_time_out_counts_from_the_time_of_the_message() {
        let mut envelope = Envelope::parse(ASSIGNMENT.as_bytes()).unwrap();
        assert_eq!(envelope.expires_at(), None);
        let start = envelope.timestamp.millis();
        for (seconds, want) in [(0.0, start), (1.5, start + 1500), (1e300, Millis::MAX)] {
            envelope.timeout = Timeout::seconds(seconds);
            assert_eq!(envelope.expires_at(), Some(want), "{seconds}");
        }
        assert!(Timeout::seconds(-0.1).is_none() && Timeout::seconds(f64::NAN).is_none());
    }

    proptest! {
        #[test]
        fn an_envelope_is_read_as_it_was_written(
            from in 0..20_usize,
            to in 0..20_usize,
            message_type in 0..9_usize,
            at in 0_i64..253_402_300_000_000,
            sequence: u64,
            priority in 0..4_usize,
            answered in option::of(any::<u64>()),
            quarters in option::of(0..4_000_000_000_u32),
            content in vec(("\\PC{0,12}", "\\PC{0,20}", any::<i64>()), 0..5),
        ) {
            let from = AgentName::ALL[from];
            let to = Some(AgentName::ALL[to]).filter(|to| to.receives()).unwrap_or(AgentName::ProductManager);
            let envelope = Envelope {
                message_id: MessageId::counted(from, at, sequence),
                from,
                to,
                message_type: MessageType::ALL[message_type],
                timestamp: Timestamp::from_millis(at),
                content: content.into_iter().map(|(key, text, n)| (key, json!({"text": text, "n": n}))).collect(),
                priority: [Priority::Low, Priority::Normal, Priority::High, Priority::Urgent][priority],
                reply_to: answered.map(|n| MessageId::counted(to, at, n)),
                // Fractions that JSON carries exactly.
                timeout: quarters.and_then(|quarters| Timeout::seconds(f64::from(quarters) / 4.0)),
            };
            prop_assert_eq!(Envelope::parse(&envelope.to_json()), Ok(envelope));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in vec(any::<u8>(), 0..200), text in "\\{\\PC{0,60}\\}") {
            let _ = Envelope::parse(&bytes);
            let _ = Envelope::parse(text.as_bytes());
        }
    }
}
