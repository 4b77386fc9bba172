//! Single values: from what is written to what it means, with an error for what cannot be read.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::factor::Factor;
use super::node::{Node, Scalar};
use super::problem::Fault;
use super::sections::items;
use super::{nearest::nearest, size};
use crate::budget::{Price, Usd};
use crate::duration;
use crate::text::WordEnum;

/// The longest text and the longest list a value may be.
const LONGEST_TEXT: usize = 32 * 1024;
const LONGEST_LIST: usize = 1_000;
pub(super) const NUMBER: &str = "a whole number";
pub(super) const SIZE: &str = "an amount of bytes such as 4GiB";
pub(super) const MONEY: &str = "an amount of dollars such as 12.50";
pub(super) const FACTOR: &str = "a number such as 1.5";
pub(super) const DURATION: &str = "a duration with its unit, such as 10m";

pub(super) fn text<'a>(node: &'a Node, wanted: &'static str) -> Result<&'a Scalar, Fault> {
    node.scalar().ok_or_else(|| node.wrong_type(wanted))
}

pub(super) fn list(node: &Node) -> Result<Vec<&Scalar>, Fault> {
    let items = items(node, "a list, such as [a, b]", LONGEST_LIST, "items")?;
    items.iter().map(|item| text(item, "a text as item of the list")).collect()
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

/// An error must not quote the value of a variable: it may be a secret in the wrong place.
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

pub(super) fn choose<T: WordEnum>(scalar: &Scalar) -> Result<T, Fault> {
    let word = scalar.text.trim();
    let found = T::all().iter().copied().find(|one| one.word() == word);
    found.ok_or_else(|| bad(scalar, choice(word, &T::words())))
}

/// What to write instead of a word that is none of the choice.
pub(crate) fn choice(word: &str, words: &[&str]) -> String {
    let known = words.join(", ");
    match nearest(word, words.iter().copied()) {
        Some(meant) => format!("did you mean {meant}? The choice is {known}"),
        None => format!("the choice is {known}"),
    }
}

pub(super) fn bad(scalar: &Scalar, why: String) -> Fault {
    Fault::BadValue { text: scalar.shown().chars().take(80).collect(), why }
}

/// A text without the line break that a file has at its end; an empty one is none.
pub(super) fn read_filled(node: &Node) -> Result<Option<String>, Fault> {
    let scalar = text(node, "a text")?;
    if scalar.text.len() > LONGEST_TEXT {
        return Err(Fault::TooLong { most: LONGEST_TEXT, of: "bytes" });
    }
    let text = scalar.text.trim();
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

/// A file for the log; none is standard error.
pub(super) fn read_log_file(node: &Node) -> Result<Option<String>, Fault> {
    let scalar = text(node, "a path")?;
    match scalar.text.as_str() {
        "" | "stderr" => Ok(None),
        "stdout" => {
            Err(bad(scalar, "standard output is for data; write stderr or the path of a file".to_owned()))
        }
        _ => path(scalar).map(Some),
    }
}

pub(super) fn path(scalar: &Scalar) -> Result<String, Fault> {
    let path = line(scalar)?;
    if (path.starts_with('/') || path.starts_with("~/")) && !path.contains(char::is_control) {
        return Ok(path);
    }
    Err(bad(scalar, "write a whole path, which begins with / or ~/".to_owned()))
}
