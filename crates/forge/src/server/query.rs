//! Query strings and percent encoding.

/// Decoded names and values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses `a=1&b=2`, also the body of a form.
    pub(crate) fn parse(text: &str) -> Query {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Query(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (form_decode(name), form_decode(value))
                })
                .collect(),
        )
    }

    /// The first value of a name; `None` if it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// All non-empty values of a name.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let found = self.0.iter().filter(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| value.as_str()).collect()
    }

    /// The query without some names, encoded.
    pub(crate) fn without(&self, names: &[&str]) -> String {
        let kept = self.0.iter().filter(|(name, _)| !names.contains(&name.as_str()));
        let pairs: Vec<String> =
            kept.map(|(name, value)| format!("{}={}", percent_encode(name), percent_encode(value))).collect();
        pairs.join("&")
    }
}

/// Decodes `%41` to `A`; invalid UTF-8 is replaced.
pub(crate) fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (bytes[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                at += 3;
            }
            (byte, _, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Encodes everything except letters, digits and `-._~`.
pub(crate) fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn form_decode(text: &str) -> String {
    percent_decode(&text.replace('+', " "))
}

#[cfg(test)]
mod tests {
    use super::{Query, percent_decode, percent_encode};

    #[test]
    fn queries_are_parsed() {
        let query = Query::parse("state=all&labels=a%2Cb+c&empty=&page=2&&x");
        assert_eq!(query.get("state"), Some("all"));
        assert_eq!(query.get("labels"), Some("a,b c"));
        assert_eq!(query.get("empty"), None);
        assert_eq!(query.without(&["page", "x"]), "state=all&labels=a%2Cb%20c&empty=");
    }

    #[test]
    fn percent_encoding_round_trips() {
        for (encoded, decoded) in
            [("a%2Fb", "a/b"), ("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("%FF", "\u{fffd}")]
        {
            assert_eq!(percent_decode(encoded), decoded);
        }
        assert_eq!(percent_decode(&percent_encode("ä / ?&#")), "ä / ?&#");
    }
}
