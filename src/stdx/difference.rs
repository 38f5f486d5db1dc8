//! What is different between two JSON values, by the path of each place.

use serde_json::Value;

/// One place at which two values differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// A JSON Pointer (RFC 6901); empty for the whole.
    pub path: String,
    /// `None` where there is nothing on the old side.
    pub old: Option<Value>,
    /// `None` where there is nothing on the new side.
    pub new: Option<Value>,
}

/// All places at which two values differ, in the order of their paths; objects by their keys, arrays by their places,
/// anything else as a whole. `ignored` is asked about every difference before it counts.
pub fn differences(old: &Value, new: &Value, ignored: impl Fn(&Difference) -> bool) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), Some(old), Some(new), &mut |difference| {
        if !ignored(&difference) {
            found.push(difference);
        }
    });
    found
}

fn compare(path: String, old: Option<&Value>, new: Option<&Value>, tell: &mut impl FnMut(Difference)) {
    match (old, new) {
        (Some(old), Some(new)) if old == new => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let mut keys: Vec<&String> = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))).collect();
            keys.sort();
            for key in keys {
                let step = key.replace('~', "~0").replace('/', "~1");
                compare(format!("{path}/{step}"), old.get(key), new.get(key), tell);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for place in 0..old.len().max(new.len()) {
                compare(format!("{path}/{place}"), old.get(place), new.get(place), tell);
            }
        }
        _ => tell(Difference { path, old: old.cloned(), new: new.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(old: &Value, new: &Value) -> Vec<String> {
        let side = |value: Option<Value>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        let found = differences(old, new, |_| false).into_iter();
        found.map(|it| format!("{} {} {}", it.path, side(it.old), side(it.new))).collect()
    }

    #[test]
    fn equal_values_have_no_differences_whatever_the_order_of_their_keys() {
        let old: Value = serde_json::from_str(r#"{"a": 1, "b": [1, {"c": null}]}"#).unwrap();
        let new: Value = serde_json::from_str(r#"{"b": [1, {"c": null}], "a": 1}"#).unwrap();
        assert_eq!(told(&old, &new), [""; 0]);
    }

    #[test]
    fn each_place_is_named_with_what_stands_there_on_either_side() {
        let old = json!({ "a": 1, "gone": true, "list": [1, 2, 3], "deep": { "x": { "y": "old" } } });
        let new = json!({ "a": "1", "list": [1, 9], "deep": { "x": { "y": "new" } }, "came": [] });
        assert_eq!(
            told(&old, &new),
            ["/a 1 \"1\"", "/came - []", "/deep/x/y \"old\" \"new\"", "/gone true -", "/list/1 2 9", "/list/2 3 -"]
        );
    }

    #[test]
    fn null_is_not_the_same_as_nothing() {
        assert_eq!(told(&json!({ "a": null }), &json!({})), ["/a null -"]);
        assert_eq!(told(&json!([null]), &json!([])), ["/0 null -"]);
    }

    #[test]
    fn values_of_other_kinds_differ_as_a_whole() {
        assert_eq!(told(&json!({ "a": 1 }), &json!([1])), [r#" {"a":1} [1]"#]);
        assert_eq!(told(&json!({ "a": {} }), &json!({ "a": [] })), ["/a {} []"]);
    }

    #[test]
    fn keys_are_written_as_pointers_write_them() {
        let old = json!({ "src/a.rs": { "~": 1 } });
        let found = differences(&old, &json!({ "src/a.rs": { "~": 2 } }), |_| false);
        assert_eq!(found[0].path, "/src~1a.rs/~0");
        assert_eq!(old.pointer(&found[0].path), Some(&json!(1)));
    }

    #[test]
    fn what_is_ignored_does_not_count() {
        let (old, new) = (json!({ "at": 1, "x": 1 }), json!({ "at": 2, "x": 2 }));
        let found = differences(&old, &new, |it| it.path.ends_with("/at"));
        assert_eq!(found.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["/x"]);
    }
}
