//! Secrets: values that are shown nowhere, and names that look like theirs.

use std::fmt;
use std::ops::Deref;

use super::node::Node;
use super::problem::Fault;
use super::scalar::read_filled;

/// Ends of names that hold a secret.
const NAMES: &str =
    "token secret password passwd api_key apikey access_key private_key routing_key pat credentials";

pub(super) const MASK: &str = "********";

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// Reads one, without the line break that a file has at its end; an empty one is none.
    pub(crate) fn read(node: &Node) -> Result<Option<Secret>, Fault> {
        Ok(read_filled(node)?.map(Secret))
    }
}

impl Deref for Secret {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

pub(super) fn is_secret(name: &str) -> bool {
    let name = name.trim_start_matches('-').replace('-', "_").to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    NAMES.split(' ').any(|secret| {
        last.strip_suffix(secret).is_some_and(|before| before.is_empty() || before.ends_with('_'))
    })
}

/// The arguments of a program with their secrets masked: `--token=x` and `--token x`.
pub(super) fn masked(args: &[String]) -> Vec<String> {
    let mut next_is_secret = false;
    args.iter()
        .map(|arg| {
            if std::mem::take(&mut next_is_secret) && !arg.starts_with('-') {
                return MASK.to_owned();
            }
            match arg.split_once('=') {
                Some((name, value)) if is_secret(name) && !value.is_empty() => format!("{name}={MASK}"),
                Some(_) => arg.clone(),
                None => {
                    next_is_secret = arg.starts_with('-') && is_secret(arg);
                    arg.clone()
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{is_secret, masked};

    #[test]
    fn names_of_secrets() {
        for name in [
            "token",
            "adapters.github.token",
            "bot_token",
            "--api-key",
            "OPENAI_API_KEY",
            "pat",
            "webhook_secret",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["max_tokens", "path", "compat", "tokenizer", "api_url", "model", ""] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn arguments_are_masked() {
        let args = ["--token=abc", "--api-key", "xyz", "--model", "m", "API_KEY=1", "--password", "--x"];
        let shown = masked(&args.map(str::to_owned));
        assert_eq!(
            shown,
            [
                "--token=********",
                "--api-key",
                "********",
                "--model",
                "m",
                "API_KEY=********",
                "--password",
                "--x"
            ]
        );
    }
}
