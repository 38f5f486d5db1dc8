//! One element of a local list or map: what was put under a constant key, when everything that touches the container
//! before stands in a straight line.

use super::fold::Known;
use super::reach::{holds, is_block, is_loop};
use super::syntax::{callee, is_function, parameter};
use super::{Flow, MAX_HOPS, Question, place};
use crate::analysis::tree::TreeNode;

/// A container as it is filled.
enum Store<'t> {
    List(Vec<TreeNode<'t>>),
    Map(Vec<(Vec<Known>, TreeNode<'t>)>),
}

impl<'t> Flow<'t> {
    /// The expression that was stored where `node` reads: `rows[0]`, `map["a"]`, `map.get("a")`.
    pub(super) fn element(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Option<TreeNode<'t>> {
        let (base, keys) = self.access(node, question)?;
        let name = base.text().into_owned();
        let scope = node.ancestors().find(|a| is_function(&a.kind())).unwrap_or_else(|| self.tree.root());
        let place = place(&base);
        if question.names.contains(&place) || question.names.len() >= MAX_HOPS {
            return None;
        }
        question.names.push(place);
        let found = self.stored(&base, &scope, &name, &keys, question);
        question.names.pop();
        found
    }

    fn stored(
        &self,
        base: &TreeNode<'t>,
        scope: &TreeNode<'t>,
        name: &str,
        keys: &[Known],
        question: &mut Question<'_>,
    ) -> Option<TreeNode<'t>> {
        let top = !is_function(&scope.kind());
        let found = self.definitions(base, scope, name, top, question);
        if !found.sure || (!top && found.list.is_empty() && parameter(scope, name).is_some()) {
            return None;
        }
        let made: Vec<_> = found.list.iter().filter(|d| !d.adds).collect();
        let [made] = made.as_slice() else { return None };
        let mut store = self.created(made.value.as_ref()?, question)?;
        let (after, before) = (made.whole.range().end, base.range().start);
        let touches: Vec<_> = scope
            .dfs()
            .filter(|n| n.is_named_leaf() && n.kind() == "identifier" && n.text() == name)
            .filter(|n| n.range().start >= after && n.range().end <= before)
            .collect();
        for touch in touches {
            self.apply(&mut store, &touch, base, question)?;
        }
        match (store, keys) {
            (Store::List(list), [Known::Number(index)]) => list.get(position(*index, list.len())?).cloned(),
            (Store::Map(pairs), keys) => {
                pairs.iter().rev().find(|(key, _)| key == keys).map(|(_, value)| value.clone())
            }
            _ => None,
        }
    }

    /// The container's name and the constant keys of a read.
    fn access(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Option<(TreeNode<'t>, Vec<Known>)> {
        match node.kind().as_ref() {
            "subscript" | "subscript_expression" | "index_expression" | "array_access" => {
                let parts: Vec<_> = node.children().filter(|c| c.is_named()).collect();
                let [base, key] = parts.as_slice() else { return None };
                let key = (base.kind() == "identifier").then(|| self.fold(key, question))??;
                Some((base.clone(), vec![key]))
            }
            "member_expression" => {
                let (base, key) = (node.field("object")?, node.field("property")?);
                (base.kind() == "identifier").then(|| (base, vec![Known::Text(key.text().into_owned())]))
            }
            "call" | "call_expression" | "method_invocation" => {
                let (_, receiver, method) = callee(node);
                if !matches!(method.as_str(), "get" | "getProperty" | "getOrDefault" | "at") {
                    return None;
                }
                let receiver = receiver.filter(|r| r.kind() == "identifier")?;
                let keys = self.known_arguments(node, question)?;
                (!keys.is_empty()).then_some((receiver, keys))
            }
            _ => None,
        }
    }

    fn known_arguments(&self, call: &TreeNode<'t>, question: &mut Question<'_>) -> Option<Vec<Known>> {
        arguments(call).iter().map(|a| self.fold(a, question)).collect()
    }

    /// A literal, or a constructor without arguments.
    fn created(&self, value: &TreeNode<'t>, question: &mut Question<'_>) -> Option<Store<'t>> {
        let children = |node: &TreeNode<'t>| -> Vec<_> {
            node.children().filter(|c| c.is_named() && !c.kind().contains("comment")).collect()
        };
        match value.kind().as_ref() {
            "list" | "array" | "tuple" => {
                let items = children(value);
                let spread = items.iter().any(|i| matches!(i.kind().as_ref(), "list_splat" | "spread_element"));
                (!spread).then_some(Store::List(items))
            }
            "dictionary" | "object" => {
                let mut pairs = Vec::new();
                for pair in children(value) {
                    let (key, stored) = (pair.field("key")?, pair.field("value")?);
                    let known = match key.kind().as_ref() {
                        "property_identifier" => Known::Text(key.text().into_owned()),
                        _ => self.fold(&key, question)?,
                    };
                    pairs.push((vec![known], stored));
                }
                Some(Store::Map(pairs))
            }
            "call" | "object_creation_expression" | "new_expression" => {
                if !arguments(value).is_empty() {
                    return None;
                }
                let (callee, ..) = callee(value);
                let list = callee.contains("List") || callee == "list" || callee.contains("Vector");
                Some(if list { Store::List(Vec::new()) } else { Store::Map(Vec::new()) })
            }
            _ => None,
        }
    }

    /// What one mention of the container does to it; `None` when that is not known.
    fn apply(
        &self,
        store: &mut Store<'t>,
        touch: &TreeNode<'t>,
        read: &TreeNode<'t>,
        question: &mut Question<'_>,
    ) -> Option<()> {
        let parent = touch.parent()?;
        let outer = parent.parent()?;
        // `map["a"] = value`
        if matches!(parent.kind().as_ref(), "subscript" | "subscript_expression" | "index_expression" | "array_access")
            || parent.kind() == "member_expression" && outer.kind() == "assignment_expression"
        {
            let written = outer.field("left").is_some_and(|left| left.node_id() == parent.node_id());
            if !written {
                return (outer.kind() != "delete_statement").then_some(());
            }
            straight(touch, read)?;
            if outer.kind().starts_with("augmented") {
                return None;
            }
            let (_, keys) = self.access(&parent, question)?;
            return put(store, keys, outer.field("right")?);
        }
        let call = if parent.kind() == "method_invocation" { parent } else { outer };
        let (_, receiver, method) = callee(&call);
        if receiver.is_none_or(|r| r.node_id() != touch.node_id()) {
            return None;
        }
        let mut given = arguments(&call);
        if matches!(
            method.as_str(),
            "get" | "getProperty" | "size" | "isEmpty" | "keys" | "has_section" | "add_section" | "containsKey" | "at"
        ) {
            return Some(());
        }
        straight(touch, read)?;
        match (method.as_str(), store) {
            ("append" | "add" | "push" | "addLast", Store::List(list)) if given.len() == 1 => list.push(given.pop()?),
            ("insert" | "add", Store::List(list)) if given.len() == 2 => {
                let Known::Number(index) = self.fold(given.first()?, question)? else { return None };
                let at = usize::try_from(index).ok()?.min(list.len());
                list.insert(at, given.pop()?);
            }
            ("pop" | "remove", Store::List(list)) => {
                let index = match given.first() {
                    None => -1,
                    Some(index) => match self.fold(index, question)? {
                        Known::Number(index) => index,
                        _ => return None,
                    },
                };
                list.remove(position(index, list.len())?);
            }
            ("shift", Store::List(list)) if !list.is_empty() => {
                list.remove(0);
            }
            ("put" | "set" | "setProperty", store) if given.len() >= 2 => {
                let value = given.pop()?;
                let keys: Option<Vec<_>> = given.iter().map(|key| self.fold(key, question)).collect();
                put(store, keys?, value)?;
            }
            _ => return None,
        }
        Some(())
    }
}

fn put<'t>(store: &mut Store<'t>, keys: Vec<Known>, value: TreeNode<'t>) -> Option<()> {
    match (store, keys.as_slice()) {
        (Store::List(list), [Known::Number(index)]) => {
            let at = position(*index, list.len())?;
            *list.get_mut(at)? = value;
        }
        (Store::Map(pairs), _) => pairs.push((keys, value)),
        _ => return None,
    }
    Some(())
}

/// A negative index counts from the end.
fn position(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let at = if index < 0 { length + index } else { index };
    (at < length).then(|| usize::try_from(at).ok())?
}

/// The change surely ran, once, before the read: its block holds the read too, and no loop is between them.
fn straight(touch: &TreeNode<'_>, read: &TreeNode<'_>) -> Option<()> {
    let block = touch.ancestors().find(|a| is_block(&a.kind()))?;
    let looped = read.ancestors().take_while(|a| a.range() != block.range()).any(|a| is_loop(&a.kind()));
    (holds(&block, read) && !looped).then_some(())
}

fn arguments<'t>(call: &TreeNode<'t>) -> Vec<TreeNode<'t>> {
    let list = call.field("arguments");
    list.map(|l| l.children().filter(|c| c.is_named() && !c.kind().contains("comment")).collect()).unwrap_or_default()
}
