//! The items that a file offers to others, with their signatures and comments.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::literal::literal;
use super::{Word, fold, line_of};
use crate::analysis::Language;
use crate::analysis::tree::TreeNode;
use crate::analysis::worker::Bounds;

const MAX_SIGNATURE: usize = 240;
const MAX_DOC: usize = 400;

/// A function, type or constant that other files may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// `function`, `struct`, `class` …
    #[serde(deserialize_with = "kind")]
    pub kind: Word,
    /// With its type's name where it belongs to one: `Store::open`, `User.save`.
    pub name: String,
    /// What stands before the body, on one line.
    pub signature: String,
    /// The first paragraph of its comment, on one line.
    pub doc: Option<String>,
    pub line: u32,
}

const KINDS: &[&str] = &[
    "function",
    "struct",
    "enum",
    "union",
    "trait",
    "type",
    "constant",
    "static",
    "class",
    "interface",
    "method",
    "record",
    "annotation",
];

fn kind<'de, D: serde::Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    super::one_of(KINDS, from)
}

impl Item {
    pub(super) fn holds(&self, bounds: &Bounds<'_>) -> bool {
        let doc = self.doc.as_ref().is_none_or(|doc| bounds.says(doc) && doc.chars().count() <= MAX_DOC + 1);
        let signature = bounds.says(&self.signature) && self.signature.chars().count() <= MAX_SIGNATURE + 1;
        doc && signature && bounds.says(&self.name) && bounds.line(self.line)
    }
}

/// The public items, in the order of the text.
pub(super) fn read(language: Language, root: &TreeNode<'_>) -> Vec<Item> {
    let exported = match language {
        Language::JavaScript | Language::TypeScript | Language::Tsx => exported(root),
        _ => BTreeSet::new(),
    };
    root.dfs()
        .filter_map(|node| match language {
            Language::Rust => rust(&node),
            Language::Python => python(&node),
            Language::JavaScript | Language::TypeScript | Language::Tsx => ecma(&node, &exported),
            Language::Go => go(&node),
            Language::Java => java(&node),
        })
        .collect()
}

fn rust(node: &TreeNode<'_>) -> Option<Item> {
    let kind = match &*node.kind() {
        "function_item" => "function",
        "struct_item" => "struct",
        "enum_item" => "enum",
        "union_item" => "union",
        "trait_item" => "trait",
        "type_item" => "type",
        "const_item" => "constant",
        "static_item" => "static",
        _ => return None,
    };
    node.children().find(|child| child.kind() == "visibility_modifier" && child.text() == "pub")?;
    let mut name = name_of(node)?;
    for above in node.ancestors() {
        match &*above.kind() {
            "block" => return None,
            "mod_item" if name_of(&above)? == "tests" => return None,
            "impl_item" => {
                let owner = above.field("type")?.text().into_owned();
                name = format!("{}::{name}", owner.split('<').next().unwrap_or(&owner));
            }
            _ => {}
        }
    }
    let lines: Vec<String> = node
        .prev_all()
        .take_while(|before| matches!(&*before.kind(), "line_comment" | "attribute_item" | "block_comment"))
        .map(|before| before.text().trim().to_owned())
        .filter(|text| text.starts_with("///") && !text.starts_with("////") || text.starts_with("/**"))
        .collect();
    Some(item(node, kind, name, lines))
}

fn python(node: &TreeNode<'_>) -> Option<Item> {
    let kind = match &*node.kind() {
        "function_definition" => "function",
        "class_definition" => "class",
        _ => return None,
    };
    let mut name = name_of(node)?;
    if name.starts_with('_') {
        return None;
    }
    for above in node.ancestors() {
        match &*above.kind() {
            "function_definition" => return None,
            "class_definition" => {
                let owner = name_of(&above).filter(|owner| !owner.starts_with('_'))?;
                name = format!("{owner}.{name}");
            }
            _ => {}
        }
    }
    Some(item(node, kind, name, docstring(node).into_iter().collect()))
}

/// The string that a function, class or module of Python begins with.
pub(super) fn docstring(node: &TreeNode<'_>) -> Option<String> {
    let first = node.field("body")?.children().find(|child| child.is_named() && child.kind() != "comment")?;
    literal(&first.children().next().filter(|_| first.kind() == "expression_statement")?)
}

fn ecma(node: &TreeNode<'_>, exported: &BTreeSet<String>) -> Option<Item> {
    let kind = match &*node.kind() {
        "function_declaration" | "generator_function_declaration" => "function",
        "class_declaration" | "abstract_class_declaration" => "class",
        "interface_declaration" => "interface",
        "type_alias_declaration" => "type",
        "enum_declaration" => "enum",
        "variable_declarator" => "constant",
        "method_definition" => "method",
        _ => return None,
    };
    if kind == "method" {
        let class = node.parent()?.parent().filter(|above| above.kind().contains("class_declaration"))?;
        let name = name_of(node).filter(|name| !name.starts_with(['_', '#']) && name != "constructor")?;
        let hidden = |child: &TreeNode<'_>| {
            child.kind() == "accessibility_modifier" && matches!(&*child.text(), "private" | "protected")
        };
        let owner = name_of(&class)?;
        let offered = is_exported(&class) || exported.contains(&owner);
        return (offered && !node.children().any(|child| hidden(&child)))
            .then(|| item(node, kind, format!("{owner}.{name}"), above(node)));
    }
    let name = name_of(node)?;
    let statement = if kind == "constant" { node.parent()? } else { node.clone() };
    let outer = statement.parent()?;
    let offered = is_exported(&statement) || outer.kind() == "program" && exported.contains(&name);
    let commented = if outer.kind() == "export_statement" { outer } else { statement };
    let kind = match node.field("value").map(|value| value.kind().into_owned()).as_deref() {
        Some("arrow_function" | "function_expression" | "function") => "function",
        _ => kind,
    };
    offered.then(|| item(node, kind, name, above(&commented)))
}

fn is_exported(node: &TreeNode<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.kind() == "export_statement")
}

/// What a file of JavaScript exports by name, after its definition.
fn exported(root: &TreeNode<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for node in root.dfs() {
        match &*node.kind() {
            "assignment_expression" => {
                let (Some(left), Some(right)) = (node.field("left"), node.field("right")) else { continue };
                let left = left.text();
                if left == "module.exports" && right.kind() == "object" {
                    let short = right.children().filter(|child| child.kind() == "shorthand_property_identifier");
                    names.extend(short.map(|child| child.text().into_owned()));
                } else if left == "module.exports"
                    || left.starts_with("exports.")
                    || left.starts_with("module.exports.")
                {
                    names.insert(right.text().into_owned());
                }
            }
            "export_specifier" => names.extend(node.field("name").map(|name| name.text().into_owned())),
            "export_statement" => names.extend(node.field("value").map(|value| value.text().into_owned())),
            _ => {}
        }
    }
    names
}

fn go(node: &TreeNode<'_>) -> Option<Item> {
    let is_public = |name: &str| name.starts_with(char::is_uppercase);
    let kind = match &*node.kind() {
        "function_declaration" => "function",
        "method_declaration" => "method",
        "type_spec" => "type",
        _ => return None,
    };
    let mut name = name_of(node).filter(|name| is_public(name))?;
    if node.ancestors().any(|above| above.kind() == "block") {
        return None;
    }
    if kind == "method" {
        let receiver = node.field("receiver")?;
        let owner = receiver.dfs().find(|inner| inner.kind() == "type_identifier")?.text().into_owned();
        name = format!("{}.{name}", Some(owner).filter(|owner| is_public(owner))?);
    }
    let alone = node.parent().filter(|parent| parent.kind() == "type_declaration");
    let comments = above(alone.as_ref().unwrap_or(node));
    Some(item(node, kind, name, comments))
}

fn java(node: &TreeNode<'_>) -> Option<Item> {
    let kind = match &*node.kind() {
        "class_declaration" => "class",
        "interface_declaration" => "interface",
        "enum_declaration" => "enum",
        "record_declaration" => "record",
        "annotation_type_declaration" => "annotation",
        "method_declaration" => "method",
        _ => return None,
    };
    let owners: Vec<TreeNode<'_>> = node.ancestors().filter(|above| above.kind().ends_with("_declaration")).collect();
    let is_public = |node: &TreeNode<'_>| {
        let modifiers = node.children().find(|child| child.kind() == "modifiers");
        let hidden = |text: &str| matches!(text, "private" | "protected");
        let within = node.ancestors().any(|above| above.kind() == "interface_body");
        match modifiers {
            Some(modifiers) => {
                modifiers.children().any(|child| child.text() == "public")
                    || within && !modifiers.children().any(|child| hidden(&child.text()))
            }
            None => within,
        }
    };
    if !is_public(node) || !owners.iter().all(is_public) {
        return None;
    }
    let names: Vec<String> = owners.iter().rev().chain([node]).filter_map(name_of).collect();
    let comments = above(node);
    Some(item(node, kind, names.join("."), comments))
}

fn name_of(node: &TreeNode<'_>) -> Option<String> {
    node.field("name").map(|name| name.text().into_owned())
}

/// The comments right above a node, the nearest first.
pub(super) fn above(node: &TreeNode<'_>) -> Vec<String> {
    let mut next = node.start_pos().line();
    let mut found = Vec::new();
    for before in node.prev_all() {
        if !before.kind().contains("comment") || before.end_pos().line() + 1 < next {
            break;
        }
        // A comment at the end of the line before speaks of that line.
        if before.prev().is_some_and(|left| left.end_pos().line() == before.start_pos().line()) {
            break;
        }
        next = before.start_pos().line();
        found.push(before.text().trim().to_owned());
        if before.text().starts_with("/*") {
            break;
        }
    }
    found
}

/// The first paragraph of comments, the nearest first.
pub(super) fn paragraph(mut comments: Vec<String>) -> Option<String> {
    comments.reverse();
    let text = comments.join("\n");
    let mut kept = Vec::new();
    for line in text.lines() {
        let line = line.trim().trim_end_matches("*/").trim();
        let line = line.trim_start_matches(['/', '*', '!']).trim_start_matches('#').trim();
        match (line.is_empty() || line.starts_with('@'), kept.is_empty()) {
            (true, true) => {}
            (true, false) => break,
            (false, _) => kept.push(line),
        }
    }
    Some(fold(&kept.join(" "), MAX_DOC)).filter(|doc| !doc.is_empty())
}

fn item(node: &TreeNode<'_>, kind: &'static str, name: String, comments: Vec<String>) -> Item {
    Item { kind, name, signature: signature(node), doc: paragraph(comments), line: line_of(node) }
}

/// The text before the body; a constant's value and annotations are left out.
fn signature(node: &TreeNode<'_>) -> String {
    let (text, start) = (node.text(), node.range().start);
    let value = node.field("value").filter(|_| !matches!(&*node.kind(), "type_alias_declaration"));
    let inner = value.as_ref().and_then(|value| value.field("body"));
    let ends = node.field("body").or(inner).or(value).map(|body| body.range().start);
    let ends = ends.unwrap_or(node.range().end) - start;
    let ends = if node.kind() == "type_spec" { text.find('{').unwrap_or(ends) } else { ends };
    let modifiers = node.children().find(|child| child.kind() == "modifiers");
    let annotated = modifiers.as_ref().and_then(|modifiers| {
        modifiers.children().filter(|child| child.kind().contains("annotation")).map(|child| child.range().end).max()
    });
    let from = annotated.map_or(0, |end| end - start).min(ends);
    let cut = text.get(from..ends).unwrap_or(&text);
    let cut = cut.trim().trim_end_matches("=>").trim_end_matches([':', '{', '=', ';']);
    fold(cut, MAX_SIGNATURE)
}

#[cfg(test)]
mod tests {
    use super::super::Outline;

    #[track_caller]
    fn check(path: &str, text: &str, want: &[(&str, &str, &str)]) {
        let items = Outline::read(path, text).unwrap().items;
        let found: Vec<(&str, &str, &str)> = items
            .iter()
            .map(|item| (item.name.as_str(), item.signature.as_str(), item.doc.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(found, want, "{path}");
    }

    #[test]
    fn public_items_have_their_signature_and_the_first_paragraph_of_their_comment() {
        check(
            "src/a.rs",
            "/// Opens it.\n///\n/// More.\n#[must_use]\npub fn open(path: &str)\n    -> u8 { 1 }\npub(crate) fn no() {}\n\
             pub struct S<T> { x: T }\nimpl<T> S<T> {\n    /// Gets.\n    pub fn get(&self) -> T { todo!() }\n    fn hid(&self) {}\n}\n\
             pub const N: u8 = 3;\nmod tests { pub fn t() {} }\n",
            &[
                ("open", "pub fn open(path: &str) -> u8", "Opens it."),
                ("S", "pub struct S<T>", ""),
                ("S::get", "pub fn get(&self) -> T", "Gets."),
                ("N", "pub const N: u8", ""),
            ],
        );
        check(
            "a.py",
            "class A(B):\n    \"\"\"An A.\n\n    Long.\n    \"\"\"\n    def run(self, x: int = 1) -> int:\n        '''Runs.'''\n        return x\n    def _no(self): pass\n\
             def f():\n    def inner(): pass\n",
            &[
                ("A", "class A(B)", "An A."),
                ("A.run", "def run(self, x: int = 1) -> int", "Runs."),
                ("f", "def f()", ""),
            ],
        );
        check(
            "a.ts",
            "/** Adds. @x */\nexport function add(a: number): number { return a }\nfunction no() {}\n\
             export const twice = (x: number) => x * 2;\nexport class K {\n  /** Goes. */\n  go(): void {}\n  private hid() {}\n}\n",
            &[
                ("add", "function add(a: number): number", "Adds. @x"),
                ("twice", "twice = (x: number)", ""),
                ("K", "class K", ""),
                ("K.go", "go(): void", "Goes."),
            ],
        );
        check(
            "a.js",
            "// Sums.\n// All.\nfunction sum(a) {}\nfunction own() {}\nmodule.exports = { sum };\n",
            &[("sum", "function sum(a)", "Sums. All.")],
        );
        check(
            "a.go",
            "package a\n\n// Open opens.\nfunc Open(p string) error { return nil }\nfunc no() {}\n// T is.\ntype T struct{ x int }\nfunc (t *T) Run() {}\n",
            &[
                ("Open", "func Open(p string) error", "Open opens."),
                ("T", "T struct", "T is."),
                ("T.Run", "func (t *T) Run()", ""),
            ],
        );
        check(
            "A.java",
            "/** An A.\n * @author x */\n@Deprecated\npublic class A {\n  /** Runs. */\n  @Override public int run(int x) { return x; }\n  int no() { return 1; }\n}\n",
            &[("A", "public class A", "An A."), ("A.run", "public int run(int x)", "Runs.")],
        );
    }
}
