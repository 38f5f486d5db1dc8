//! What the real server's log says of the agents' work (S0.15), as the records that a collector reads.

use serde_json::Value;

use crate::metrics::Server;

/// A program that nobody runs plays the tester: it fails twice.
const NOBODY: &str = "[agents.tester]\noutside = true\ntimeout_ms = 200\nretries = 1\n";

#[tokio::test(flavor = "multi_thread")]
async fn s0_15_the_servers_log_tells_of_each_answer_failure_and_retry_with_its_fields() {
    let dir = tempfile::tempdir().unwrap();
    let settings = dir.path().join("octoswarm.toml");
    std::fs::write(&settings, NOBODY).unwrap();
    let env = [("OCTOSWARM_LOG_FORMAT", "json"), ("OCTOSWARM_CONFIG", settings.to_str().unwrap())];
    let server = Server::with(&env).await;
    server.story().await;
    let records: Vec<Value> = server.log().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |message: &str, agent: &str| -> Vec<&Value> {
        let about = |record: &&Value| record["fields"]["message"] == message && record["fields"]["agent"] == agent;
        records.iter().filter(about).collect()
    };

    let answered = of("an agent has answered", "coder");
    assert_eq!(answered.len(), 1, "{records:#?}");
    let (record, fields) = (answered[0], &answered[0]["fields"]);
    assert!(octoswarm::stdx::text::parse_iso8601(record["timestamp"].as_str().unwrap()).is_some(), "{record}");
    assert_eq!(record["level"], "INFO");
    assert_eq!(
        (fields["input"].as_str().unwrap().split(", ").next(), &fields["output"]),
        (Some("facts"), &"code-changes.json".into())
    );
    assert!(fields["input"].as_str().unwrap().contains("explorer"), "what it was given: {fields}");
    assert!(!fields["summary"].as_str().unwrap().is_empty() && fields["status"] == "Success", "{fields}");
    assert!(fields["retry"] == 0 && fields["duration_ms"].is_u64() && fields["worker"] == "coder", "{fields}");
    assert!(!fields["run.id"].as_str().unwrap().is_empty());

    let failed = of("an agent has failed", "tester");
    assert_eq!(failed.len(), 2, "the first attempt and its retry: {records:#?}");
    for (nth, record) in failed.iter().enumerate() {
        let fields = &record["fields"];
        assert_eq!((record["level"].as_str(), fields["retry"].as_u64()), (Some("WARN"), Some(nth as u64)));
        assert_eq!((fields["code"].as_str(), &fields["recoverable"]), (Some("API_001"), &true.into()), "{fields}");
        assert!(
            fields["error"].as_str().unwrap().contains("tester"),
            "the error beside the record's own words: {fields}"
        );
        assert!(fields["input"].as_str().unwrap().contains("coder") && fields["worker"] == "tester", "{fields}");
        assert_eq!(fields["run.id"], answered[0]["fields"]["run.id"]);
    }
    // Every agent that answered has its record.
    for agent in ["manager", "critical", "debt", "improvement", "documentation", "master", "scout", "analyst", "pr"] {
        assert!(!of("an agent has answered", agent).is_empty(), "{agent}");
    }
}
