//! Single values: from what is written to what it means, with a word about what cannot be read.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::factor::Factor;
use super::node::{Node, Scalar, Value};
use super::problem::Fault;
use super::{nearest::nearest, size};
use crate::budget::{Price, Usd};
use crate::duration;

/// The longest text and the longest list a value may be.
const LONGEST_TEXT: usize = 32 * 1024;
const LONGEST_LIST: usize = 1_000;

pub(super) const NUMBER: &str = "a whole number";
pub(super) const SIZE: &str = "an amount of bytes such as 4GiB";
pub(super) const MONEY: &str = "an amount of dollars such as 12.50";
pub(super) const FACTOR: &str = "a number such as 1.5";
pub(super) const DURATION: &str = "a duration with its unit, such as 10m";

/// The single value of a node.
pub(super) fn text<'a>(node: &'a Node, wanted: &'static str) -> Result<&'a Scalar, Fault> {
    match &node.value {
        Value::Scalar(scalar) => Ok(scalar),
        Value::Null | Value::List(_) | Value::Map(_) | Value::Bad => {
            Err(Fault::WrongType { wanted, found: node.value.kind() })
        }
    }
}

/// The single values of a list.
pub(super) fn list(node: &Node) -> Result<Vec<&Scalar>, Fault> {
    let wanted = "a list, such as [a, b]";
    match &node.value {
        Value::List(nodes) if nodes.len() > LONGEST_LIST => {
            Err(Fault::TooLong { most: LONGEST_LIST, of: "items" })
        }
        Value::List(nodes) => nodes.iter().map(|node| text(node, "a text as item of the list")).collect(),
        Value::Null | Value::Scalar(_) | Value::Map(_) | Value::Bad => {
            Err(Fault::WrongType { wanted, found: node.value.kind() })
        }
    }
}

pub(super) fn flag(scalar: &Scalar) -> Result<bool, Fault> {
    match scalar.text.as_str() {
        "true" | "True" | "TRUE" => Ok(true),
        "false" | "False" | "FALSE" => Ok(false),
        _ => Err(bad(scalar, "write true or false".to_owned())),
    }
}

pub(super) fn count(scalar: &Scalar) -> Result<u32, Fault> {
    scalar.text.trim().parse().map_err(|_| bad(scalar, format!("write a whole number up to {}", u32::MAX)))
}

pub(super) fn bytes(scalar: &Scalar) -> Result<u64, Fault> {
    size::parse(&scalar.text).map_err(|why| bad(scalar, unless_replaced(scalar, why, SIZE)))
}

pub(super) fn time(scalar: &Scalar) -> Result<Duration, Fault> {
    duration::parse(&scalar.text).map_err(|why| {
        let why = format!("{why} (accepted: 30s, 10m, 1h30m)");
        bad(scalar, unless_replaced(scalar, why, DURATION))
    })
}

pub(super) fn factor(scalar: &Scalar) -> Result<Factor, Fault> {
    Factor::parse(&scalar.text).map_err(|why| bad(scalar, why))
}

pub(super) fn money(scalar: &Scalar) -> Result<Usd, Fault> {
    Usd::parse(&scalar.text).map_err(|why| bad(scalar, why))
}

pub(super) fn price(scalar: &Scalar) -> Result<Price, Fault> {
    Price::parse(&scalar.text).map_err(|why| bad(scalar, why))
}

/// A number without a fraction where there is none.
pub(super) fn dollars(usd: Usd) -> Json {
    match usd.micros() % 1_000_000 {
        0 => json!(usd.micros() / 1_000_000),
        _ => json!(usd.dollars()),
    }
}

/// A complaint must not quote what a variable holds: it may be a secret in the wrong place.
fn unless_replaced(scalar: &Scalar, why: String, wanted: &str) -> String {
    if scalar.written.is_some() {
        format!("the variable holds no such value; expected {wanted}")
    } else {
        why
    }
}

pub(super) fn line(scalar: &Scalar) -> Result<String, Fault> {
    if scalar.text.len() > LONGEST_TEXT {
        return Err(Fault::TooLong { most: LONGEST_TEXT, of: "bytes" });
    }
    if scalar.text.contains('\0') {
        return Err(bad(scalar, "take out the NUL character".to_owned()));
    }
    Ok(scalar.text.clone())
}

pub(super) fn choose<T: Copy>(scalar: &Scalar, all: &[T], name: fn(T) -> &'static str) -> Result<T, Fault> {
    let word = scalar.text.trim();
    if let Some(found) = all.iter().find(|one| name(**one) == word) {
        return Ok(*found);
    }
    let names: Vec<&'static str> = all.iter().map(|one| name(*one)).collect();
    let known = names.join(", ");
    Err(bad(
        scalar,
        match nearest(word, names.iter().copied()) {
            Some(meant) => format!("did you mean {meant}? The choice is {known}"),
            None => format!("the choice is {known}"),
        },
    ))
}

pub(super) fn bad(scalar: &Scalar, why: String) -> Fault {
    Fault::BadValue { text: scalar.shown().chars().take(80).collect(), why }
}

/// A text without the line break that a file has at its end; an empty one is none.
pub(super) fn filled(scalar: &Scalar) -> Result<Option<String>, Fault> {
    if scalar.text.len() > LONGEST_TEXT {
        return Err(Fault::TooLong { most: LONGEST_TEXT, of: "bytes" });
    }
    let text = scalar.text.trim();
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

/// A file for the log; none is standard error.
pub(super) fn log_file(scalar: &Scalar) -> Result<Option<String>, Fault> {
    match scalar.text.as_str() {
        "" | "stderr" => Ok(None),
        "stdout" => {
            Err(bad(scalar, "standard output is for data; write stderr or the path of a file".to_owned()))
        }
        _ => path(scalar).map(Some),
    }
}

/// A path that means the same wherever Pilot is started.
pub(super) fn path(scalar: &Scalar) -> Result<String, Fault> {
    let path = line(scalar)?;
    if (path.starts_with('/') || path.starts_with("~/")) && !path.contains(char::is_control) {
        return Ok(path);
    }
    Err(bad(scalar, "write a whole path, which begins with / or ~/".to_owned()))
}
