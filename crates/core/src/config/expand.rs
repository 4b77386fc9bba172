//! `${NAME}` and `${NAME:-default}` in values. Done after parsing, so that a variable can never become a key.

use super::node::{Node, Value, join_path};
use super::problem::{Fault, Origin, Problem};

/// The longest text a reference may lead to.
const LONGEST: usize = 64 * 1024;

/// The longest text all references of a file together may lead to.
const LONGEST_TOGETHER: usize = 1 << 20;

/// Values in which a `${…}` is for a shell, not for Pilot.
const VERBATIM: [&str; 1] = ["quality.gates.command"];

pub enum EnvReferences<'a> {
    /// Nothing: the file is the project's, which must not read the user's environment.
    Refused,
    From(&'a dyn Fn(&str) -> Option<String>),
}

/// Replaces the references in all values below a node. Where that fails the value becomes [`Value::Bad`].
pub fn expand(root: &mut Node, origin: &Origin, references: &EnvReferences<'_>) -> Vec<Problem> {
    let mut expander = Expander { origin, references, left: LONGEST_TOGETHER, problems: Vec::new() };
    expander.walk(root, "");
    expander.problems
}

struct Expander<'a> {
    origin: &'a Origin,
    references: &'a EnvReferences<'a>,
    /// How many more bytes references may lead to.
    left: usize,
    problems: Vec<Problem>,
}

impl Expander<'_> {
    fn walk(&mut self, node: &mut Node, path: &str) {
        match &mut node.value {
            Value::Null | Value::Bad => {}
            Value::Scalar(_) if VERBATIM.contains(&path) => {}
            Value::List(nodes) => {
                for node in nodes {
                    self.walk(node, path);
                }
            }
            Value::Map(entries) => {
                for entry in entries {
                    self.walk(&mut entry.value, &join_path(path, &entry.key));
                }
            }
            Value::Scalar(scalar) => match self.replaced(&scalar.text) {
                Ok(None) => {}
                Ok(Some(text)) => scalar.written = Some(std::mem::replace(&mut scalar.text, text)),
                Err(fault) => {
                    let origin = self.origin.at(node.place);
                    self.problems.push(Problem { origin, key: path.to_owned(), fault });
                    node.value = Value::Bad;
                }
            },
        }
    }

    fn replaced(&mut self, text: &str) -> Result<Option<String>, Fault> {
        let replaced = replaced(text, self.references)?;
        let length = replaced.as_ref().map_or(0, String::len);
        self.left = self
            .left
            .checked_sub(length)
            .ok_or(Fault::TooLong { most: LONGEST_TOGETHER, of: "bytes in all references" })?;
        Ok(replaced)
    }
}

fn replaced(text: &str, references: &EnvReferences<'_>) -> Result<Option<String>, Fault> {
    if !text.contains("${") {
        return Ok(None);
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = &from[2..];
            continue;
        }
        out.push_str(before);
        let (value, after) = reference(from, references)?;
        out.push_str(&value);
        rest = after;
        if out.len() > LONGEST {
            return Err(Fault::TooLong { most: LONGEST, of: "bytes" });
        }
    }
    out.push_str(rest);
    Ok(Some(out))
}

/// The value of the reference a text starts with, and the text behind it.
fn reference<'a>(text: &'a str, references: &EnvReferences<'_>) -> Result<(String, &'a str), Fault> {
    let bad = || Fault::BadReference { text: text.chars().take(40).collect() };
    let EnvReferences::From(look_up) = references else { return Err(Fault::ReferenceInProject) };
    let (inside, after) = text[2..].split_once('}').ok_or_else(bad)?;
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.starts_with(|c: char| !c.is_ascii_digit());
    if !is_name {
        return Err(bad());
    }
    // As in a shell: an empty variable takes the default too.
    let value = match (look_up(name), default) {
        (Some(value), Some(default)) if value.is_empty() => default.to_owned(),
        (Some(value), _) => value,
        (None, Some(default)) => default.to_owned(),
        (None, None) => return Err(Fault::Unset { variable: name.to_owned() }),
    };
    Ok((value, after))
}

#[cfg(test)]
mod tests {
    use super::{EnvReferences, expand, replaced};
    use crate::config::{MapEntry, Node, Origin, Place, Scalar, Value};

    fn check(text: &str, expect: Result<&str, &str>) {
        let look_up = |name: &str| match name {
            "HOME" => Some("/root".to_owned()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${HOME}".to_owned()),
            _ => None,
        };
        let got = replaced(text, &EnvReferences::From(&look_up))
            .map(|replaced| replaced.unwrap_or_else(|| text.to_owned()))
            .map_err(|fault| fault.to_string());
        match expect {
            Ok(expect) => assert_eq!(got.as_deref(), Ok(expect), "{text:?}"),
            Err(words) => assert!(got.clone().expect_err(text).contains(words), "{text:?}: {got:?}"),
        }
    }

    #[test]
    fn references_are_replaced_once() {
        check("plain $HOME", Ok("plain $HOME"));
        check("${HOME}/x${HOME}", Ok("/root/x/root"));
        check("${NESTED}", Ok("${HOME}"));
        check("${MISSING:-a b}", Ok("a b"));
        check("${MISSING:-}", Ok(""));
        check("${EMPTY}", Ok(""));
        check("${EMPTY:-x}", Ok("x"));
        check("${HOME:-x}", Ok("/root"));
        check("$${HOME}", Ok("${HOME}"));
        check("a$${b}${HOME}", Ok("a${b}/root"));
    }

    #[test]
    fn mistakes_are_told() {
        check("${MISSING}", Err("the variable MISSING is not set; set it, or write ${MISSING:-default}"));
        check("${HOME", Err("is no reference"));
        check("${}", Err("is no reference"));
        check("${1}", Err("is no reference"));
        check("${A B}", Err("is no reference"));
        let refused = replaced("${HOME}", &EnvReferences::Refused).expect_err("refused").to_string();
        assert!(refused.contains("must not read the environment"), "{refused}");
        assert_eq!(replaced("$${HOME}", &EnvReferences::Refused), Ok(Some("${HOME}".to_owned())));
    }

    #[test]
    fn a_command_is_left_to_its_shell() {
        let scalar = |text: &str| Node { place: Place::default(), value: Value::Scalar(Scalar::new(text)) };
        let entry = |key: &str, value| MapEntry { key: key.to_owned(), place: Place::default(), value };
        let map = |entries| Node { place: Place::default(), value: Value::Map(entries) };
        let gate = map(vec![entry("command", scalar("echo ${HOME}")), entry("name", scalar("${HOME}"))]);
        let list = Node { place: Place::default(), value: Value::List(vec![gate]) };
        let mut root = map(vec![entry("quality", map(vec![entry("gates", list)]))]);
        let problems = expand(&mut root, &Origin::Default, &EnvReferences::Refused);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].key, "quality.gates.name");
        let written = format!("{root:?}");
        assert!(written.contains("echo ${HOME}") && written.contains("Bad"), "{written}");
    }

    #[test]
    fn what_is_replaced_is_bounded() {
        let long = |_: &str| Some("x".repeat(1000));
        let fault = replaced(&"${A}".repeat(10_000), &EnvReferences::From(&long)).expect_err("too long");
        assert_eq!(fault.to_string(), "more than 65536 bytes");
    }
}
