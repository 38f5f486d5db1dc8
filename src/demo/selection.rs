//! Just enough of GraphQL's language: fields, arguments, aliases, variables, inline fragments and named fragments.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// One field that was asked for.
#[derive(Debug, Clone)]
pub struct Field {
    pub name: String,
    pub alias: Option<String>,
    pub arguments: BTreeMap<String, Value>,
    pub fields: Vec<Field>,
    /// The type an inline fragment asks for; such a field has no name.
    pub on: Option<String>,
}

impl Field {
    pub fn key(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.name)
    }
}

#[derive(Debug)]
pub struct Document {
    pub mutation: bool,
    pub fields: Vec<Field>,
}

struct Parser<'a> {
    tokens: Vec<String>,
    at: usize,
    variables: &'a Value,
    declared: BTreeMap<String, Value>,
    used: std::collections::BTreeSet<String>,
    fragments: BTreeMap<String, Vec<Field>>,
}

/// Parses one operation and puts the variables in their places.
pub fn parse(text: &str, variables: &Value) -> Result<Document, String> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        variables,
        declared: BTreeMap::new(),
        used: std::collections::BTreeSet::new(),
        fragments: BTreeMap::new(),
    };
    let document = parser.document()?;
    for name in variables.as_object().into_iter().flat_map(|map| map.keys()) {
        if !parser.declared.contains_key(name) {
            return Err(format!("Variable ${name} was provided but not declared"));
        }
    }
    for name in parser.declared.keys() {
        if !parser.used.contains(name) {
            return Err(format!("Variable ${name} is declared but not used"));
        }
    }
    Ok(document)
}

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if c.is_whitespace() || c == ',' {
            at += 1;
        } else if c == '#' {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
        } else if c == '"' {
            let begin = at;
            at += 1;
            while at < chars.len() && chars[at] != '"' {
                at += if chars[at] == '\\' { 2 } else { 1 };
            }
            if at >= chars.len() {
                return Err("Unterminated string".to_owned());
            }
            at += 1;
            found.push(chars[begin..at].iter().collect());
        } else if c.is_alphanumeric() || c == '_' || c == '-' {
            let begin = at;
            while at < chars.len() && (chars[at].is_alphanumeric() || matches!(chars[at], '_' | '-' | '+')) {
                at += 1;
            }
            found.push(chars[begin..at].iter().collect());
        } else if chars[at..].starts_with(&['.', '.', '.']) {
            found.push("...".to_owned());
            at += 3;
        } else if "{}()[]:$!=@".contains(c) {
            found.push(c.to_string());
            at += 1;
        } else {
            return Err(format!("Parse error on {c:?}"));
        }
    }
    Ok(found)
}

impl Parser<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        let token = self.peek().to_owned();
        self.at += 1;
        token
    }

    fn eat(&mut self, token: &str) -> bool {
        let hit = self.peek() == token;
        self.at += usize::from(hit);
        hit
    }

    fn want(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(format!("Parse error: expected {token:?}, got {:?}", self.peek())) }
    }

    fn name(&mut self) -> Result<String, String> {
        let token = self.next();
        let fits = token.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if fits { Ok(token) } else { Err(format!("Parse error: expected a name, got {token:?}")) }
    }

    fn document(&mut self) -> Result<Document, String> {
        let operation = self.at;
        // Fragments may be written after the operation that uses them.
        self.skip_operation()?;
        while self.eat("fragment") {
            let name = self.name()?;
            self.want("on")?;
            self.name()?;
            let fields = self.selection()?;
            self.fragments.insert(name, fields);
        }
        if self.at != self.tokens.len() {
            return Err(format!("Parse error on {:?}: one operation a document", self.peek()));
        }
        self.at = operation;
        let mutation = match self.peek() {
            "{" => false,
            "query" | "mutation" => self.next() == "mutation",
            other => return Err(format!("Parse error: {other:?} is no operation the box knows")),
        };
        if !matches!(self.peek(), "{" | "(") {
            self.name()?;
        }
        if self.eat("(") {
            while !self.eat(")") {
                self.declaration()?;
            }
        }
        Ok(Document { mutation, fields: self.selection()? })
    }

    fn skip_operation(&mut self) -> Result<(), String> {
        let mut depth = 0_i32;
        while self.at < self.tokens.len() {
            match self.next().as_str() {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        Err("Parse error: the operation does not end".to_owned())
    }

    fn declaration(&mut self) -> Result<(), String> {
        self.want("$")?;
        let name = self.name()?;
        self.want(":")?;
        while self.eat("[") {}
        self.name()?;
        let mut required = false;
        while matches!(self.peek(), "]" | "!") {
            required = self.next() == "!";
        }
        let default = if self.eat("=") { Some(self.value()?) } else { None };
        let given = self.variables.get(&name).cloned().or(default);
        if required && given.as_ref().is_none_or(Value::is_null) {
            return Err(format!("Variable ${name} of a non-null type was provided no value"));
        }
        self.declared.insert(name, given.unwrap_or(Value::Null));
        Ok(())
    }

    fn selection(&mut self) -> Result<Vec<Field>, String> {
        self.want("{")?;
        let mut fields = Vec::new();
        while !self.eat("}") {
            if self.eat("...") {
                if self.eat("on") {
                    let on = Some(self.name()?);
                    let inner = self.selection()?;
                    let (name, arguments) = (String::new(), BTreeMap::new());
                    fields.push(Field { name, alias: None, arguments, fields: inner, on });
                } else {
                    let name = self.name()?;
                    let known = self.fragments.get(&name).cloned();
                    fields.extend(known.ok_or_else(|| format!("Fragment {name} was used, but not defined"))?);
                }
                continue;
            }
            fields.push(self.field()?);
        }
        if fields.is_empty() { Err("Parse error: an empty selection".to_owned()) } else { Ok(fields) }
    }

    fn field(&mut self) -> Result<Field, String> {
        let mut name = self.name()?;
        let mut alias = None;
        if self.eat(":") {
            alias = Some(std::mem::replace(&mut name, self.name()?));
        }
        let mut arguments = BTreeMap::new();
        if self.eat("(") {
            while !self.eat(")") {
                let key = self.name()?;
                self.want(":")?;
                let value = self.value()?;
                arguments.insert(key, value);
            }
        }
        let fields = if self.peek() == "{" { self.selection()? } else { Vec::new() };
        Ok(Field { name, alias, arguments, fields, on: None })
    }

    fn value(&mut self) -> Result<Value, String> {
        let token = self.next();
        match token.as_str() {
            "$" => {
                let name = self.name()?;
                self.used.insert(name.clone());
                self.declared.get(&name).cloned().ok_or_else(|| format!("Variable ${name} is used but not declared"))
            }
            "[" => {
                let mut items = Vec::new();
                while !self.eat("]") {
                    items.push(self.value()?);
                }
                Ok(Value::Array(items))
            }
            "{" => {
                let mut map = json!({});
                while !self.eat("}") {
                    let key = self.name()?;
                    self.want(":")?;
                    map[key] = self.value()?;
                }
                Ok(map)
            }
            text if text.starts_with('"') => serde_json::from_str(text).map_err(|e| format!("Parse error: {e}")),
            "true" => Ok(json!(true)),
            "false" => Ok(json!(false)),
            "null" => Ok(Value::Null),
            text => match text.parse::<i64>() {
                Ok(number) => Ok(json!(number)),
                Err(_) if text.starts_with(char::is_alphabetic) => Ok(json!(text)),
                Err(_) => Err(format!("Parse error on {text:?}")),
            },
        }
    }
}
