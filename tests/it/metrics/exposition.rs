//! A strict reader of Prometheus' text format 0.0.4, which shares no code with the writer.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Debug)]
pub struct Family {
    pub name: String,
    pub help: String,
    pub kind: Kind,
}

#[derive(Debug)]
pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
    family: String,
}

#[derive(Debug)]
pub struct Exposition {
    pub text: String,
    pub families: Vec<Family>,
    pub samples: Vec<Sample>,
}

impl Exposition {
    /// Reads all of it, or panics with the line that is wrong.
    #[track_caller]
    pub fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line ends");
        let (mut families, mut samples) = (Vec::<Family>::new(), Vec::<Sample>::new());
        let mut lines = text.lines();
        let mut seen = BTreeSet::new();
        while let Some(line) = lines.next() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap_or_else(|| panic!("no help: {line}"));
                is_name(name, line);
                assert!(!help.trim().is_empty(), "{line}");
                let kind = lines.next().and_then(|l| l.strip_prefix(&format!("# TYPE {name} ")));
                let kind = match kind {
                    Some("counter") => Kind::Counter,
                    Some("gauge") => Kind::Gauge,
                    Some("histogram") => Kind::Histogram,
                    other => panic!("{other:?} after {line}"),
                };
                assert_eq!(
                    name.ends_with("_total"),
                    kind == Kind::Counter,
                    "counters, and only they, end in _total: {line}"
                );
                assert!(families.iter().all(|family| family.name != name), "a second time: {line}");
                families.push(Family { name: name.to_owned(), help: help.to_owned(), kind });
                continue;
            }
            assert!(!line.starts_with('#') && !line.is_empty(), "neither help nor sample: {line:?}");
            let family = families.last().unwrap_or_else(|| panic!("no family yet: {line}"));
            let sample = sample(line, family);
            assert!(seen.insert((sample.name.clone(), sample.labels.clone())), "a second time: {line}");
            samples.push(sample);
        }
        let read = Self { text: text.to_owned(), families, samples };
        read.check_histograms();
        read
    }

    pub fn family(&self, name: &str) -> Option<&Family> {
        self.families.iter().find(|family| family.name == name)
    }

    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let wanted: BTreeMap<String, String> =
            labels.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect();
        self.samples.iter().find(|sample| sample.name == name && sample.labels == wanted).map(|sample| sample.value)
    }

    pub fn sum(&self, name: &str) -> f64 {
        self.samples.iter().filter(|sample| sample.name == name).map(|sample| sample.value).sum()
    }

    pub fn labels_of(&self, family: &str) -> BTreeSet<&str> {
        let samples = self.samples.iter().filter(|sample| sample.family == family);
        samples.flat_map(|sample| sample.labels.keys().map(String::as_str)).collect()
    }

    /// Buckets rise, end with `+Inf`, and agree with the count.
    #[track_caller]
    fn check_histograms(&self) {
        for family in self.families.iter().filter(|family| family.kind == Kind::Histogram) {
            let mut series: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>> = BTreeMap::new();
            for bucket in self.samples.iter().filter(|s| s.name == format!("{}_bucket", family.name)) {
                let mut labels = bucket.labels.clone();
                let bound = labels.remove("le").expect("a bucket has a bound");
                let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
                series.entry(labels).or_default().push((bound, bucket.value));
            }
            for (labels, buckets) in series {
                assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{} {labels:?} {buckets:?}", family.name);
                let last = buckets.last().unwrap();
                assert!(last.0.is_infinite(), "{}", family.name);
                for suffix in ["sum", "count"] {
                    let name = format!("{}_{suffix}", family.name);
                    let found = self.samples.iter().find(|s| s.name == name && s.labels == labels).expect(&name);
                    assert!(suffix == "sum" || found.value == last.1, "{name} {labels:?}");
                }
            }
        }
    }
}

#[track_caller]
fn sample(line: &str, family: &Family) -> Sample {
    let wrong = |what: &str| -> ! { panic!("{what}: {line}") };
    let name_end = line.find(['{', ' ']).unwrap_or_else(|| wrong("no value"));
    let (name, mut rest) = line.split_at(name_end);
    is_name(name, line);
    let own = match family.kind {
        Kind::Histogram => ["_bucket", "_sum", "_count"].iter().any(|s| name == format!("{}{s}", family.name)),
        Kind::Counter | Kind::Gauge => name == family.name,
    };
    assert!(own, "not of the family {}: {line}", family.name);
    let mut labels = BTreeMap::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").unwrap_or_else(|| wrong("no label"));
            is_name(label, line);
            let end = after.find('"').unwrap_or_else(|| wrong("an open quote"));
            let value = &after[..end];
            assert!(value.bytes().all(|b| b.is_ascii_graphic() && b != b'\\'), "an odd value: {line}");
            assert!(!value.is_empty(), "an empty label: {line}");
            assert!(labels.insert(label.to_owned(), value.to_owned()).is_none(), "a label twice: {line}");
            rest = &after[end + 1..];
            match rest.as_bytes().first() {
                Some(b',') => rest = &rest[1..],
                Some(b'}') => break,
                _ => wrong("labels do not end"),
            }
        }
        rest = &rest[1..];
    }
    let text = rest.strip_prefix(' ').unwrap_or_else(|| wrong("no blank before the value"));
    let value: f64 = text.parse().unwrap_or_else(|_| wrong("no number"));
    assert!(value.is_finite() && value >= 0.0, "an odd number: {line}");
    Sample { name: name.to_owned(), labels, value, family: family.name.clone() }
}

#[track_caller]
fn is_name(name: &str, line: &str) {
    let fits = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    assert!(fits && name.starts_with(|c: char| c.is_ascii_lowercase()), "an odd name: {line}");
}
