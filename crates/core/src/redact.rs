//! Removes secrets from text before it is stored or shown.
//!
//! Two kinds are found: values Pilot knows to be secret, and shapes that are secret wherever they stand (forge tokens, model
//! keys, `Bearer …`, passwords in addresses, private keys). Text comes in chunks cut anywhere; the result does not depend on the
//! cuts. Must never know where the text comes from or where it goes.

use std::fmt;
use std::sync::Arc;

/// What stands where a secret stood.
pub const REDACTED: &str = "[redacted]";

/// A known value shorter than this is not looked for: it would be found everywhere.
pub const SHORTEST: usize = 6;

/// The longest `user:password` looked for in an address; no more is held back to find its `@`.
const LONGEST_USERINFO: usize = 1024;

/// A name without a password is taken for a token from this length on: `https://TOKEN@host`, but not `ssh://git@host`.
const TOKEN_AS_USER: usize = 20;

/// What stands before a name and password in an address.
const SCHEME_END: &[u8] = b"://";

/// How a private key begins, and how its first and its last line end.
const KEY_BEGIN: &[u8] = b"-----BEGIN ";
const KEY_WORDS: &[u8] = b"PRIVATE KEY-----";

/// The most between the two, as in `-----BEGIN OPENSSH PRIVATE KEY-----`.
const KEY_KIND: usize = 24;

/// A private key without an end is taken for over after this many bytes.
const LONGEST_KEY: usize = 16 * 1024;

/// The secrets to take out: the known values, and the shapes, which are always looked for. Cheap to clone.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Arc<KnownSecrets>,
}

impl Secrets {
    pub fn none() -> Secrets {
        Secrets::default()
    }

    /// These values too, also as they are written inside JSON. Values shorter than [`SHORTEST`] are left out.
    pub fn new<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> Secrets {
        let mut known: Vec<Vec<u8>> = Vec::new();
        for value in values {
            let value = value.as_ref().trim();
            if value.len() < SHORTEST {
                continue;
            }
            known.push(value.as_bytes().to_vec());
            // A string always serializes; without its quotes it is how an agent's stream spells the value.
            if let Ok(quoted) = serde_json::to_string(value)
                && let Some(spelled) = quoted.get(1..quoted.len() - 1)
                && spelled != value
            {
                known.push(spelled.as_bytes().to_vec());
            }
        }
        Secrets { known: Arc::new(KnownSecrets::new(known)) }
    }

    /// No secret is longer than this, so a reader that begins in the middle of a text knows when a cut secret has ended.
    /// A token has no longest, but services make none of many kilobytes.
    pub fn reach(&self) -> usize {
        let known = self.known.values.iter().map(Vec::len).max().unwrap_or(0);
        known.max(KEY_BEGIN.len() + KEY_KIND + KEY_WORDS.len() + LONGEST_KEY)
    }

    pub fn redact(&self, text: &str) -> String {
        let mut out = Vec::with_capacity(text.len());
        let mut redactor = Redactor::new(self);
        redactor.push(text.as_bytes(), &mut out);
        redactor.finish(&mut out);
        // Values begin and end at character borders, and so do the ASCII shapes.
        String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

/// Says how many there are, never which.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} known)", self.known.values.len())
    }
}

pub fn redact(text: &str, secrets: &Secrets) -> String {
    secrets.redact(text)
}

/// Takes the secrets out of a text that comes in chunks. Holds back what may be the begin of a secret: at most the longest
/// known value, or about a kilobyte.
pub struct Redactor {
    secrets: Secrets,
    held: Vec<u8>,
    /// The two bytes before what is held.
    before: [u8; 2],
    state: RedactState,
}

/// Says how much is held back, never what.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({:?}, {} bytes held)", self.secrets, self.held.len())
    }
}

#[derive(Clone, Copy)]
enum RedactState {
    Text,
    Token(ByteTest),
    /// Inside a private key, for at most so many more bytes.
    Key(usize),
}

impl Redactor {
    pub fn new(secrets: &Secrets) -> Redactor {
        Redactor { secrets: secrets.clone(), held: Vec::new(), before: [0; 2], state: RedactState::Text }
    }

    /// Takes the next chunk; what is certain by now is appended to `out`.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        if self.held.is_empty() {
            let used = self.take(chunk, false, out);
            self.held.extend_from_slice(&chunk[used..]);
            return;
        }
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(chunk);
        let used = self.take(&text, false, out);
        text.drain(..used);
        self.held = text;
    }

    /// The text is over: nothing is held back any longer.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let text = std::mem::take(&mut self.held);
        self.take(&text, true, out);
        (self.before, self.state) = ([0; 2], RedactState::Text);
    }

    /// Works through the text; gives how much of it is dealt with.
    fn take(&mut self, text: &[u8], last: bool, out: &mut Vec<u8>) -> usize {
        let known = Arc::clone(&self.secrets.known);
        let (mut at, mut waits) = (0, false);
        while at < text.len() && !waits {
            (at, waits) = match self.state {
                RedactState::Text => self.text(&known, text, at, last, out),
                RedactState::Token(belongs) => (self.token(text, at, belongs), false),
                RedactState::Key(left) => self.key(text, at, left, last),
            };
        }
        self.before = self.before(text, at);
        at
    }

    /// Copies what comes before the next secret, and enters that. Gives the place reached, and whether only more text
    /// can tell what stands there.
    fn text(
        &mut self,
        known: &KnownSecrets,
        text: &[u8],
        from: usize,
        last: bool,
        out: &mut Vec<u8>,
    ) -> (usize, bool) {
        let mut at = known.next_candidate(text, from);
        let mut seen = Look::Nothing;
        while at < text.len() {
            seen = known.look(&text[at..], self.before(text, at), last);
            if !matches!(seen, Look::Nothing) {
                break;
            }
            at = known.next_candidate(text, at + 1);
        }
        out.extend_from_slice(&text[from..at]);
        match seen {
            Look::Nothing => (at, false),
            Look::Perhaps => (at, true),
            Look::Secret(FoundSecret { keep, length, then }) => {
                out.extend_from_slice(&text[at..at + keep]);
                out.extend_from_slice(REDACTED.as_bytes());
                self.state = then;
                (at + length, false)
            }
        }
    }

    fn token(&mut self, text: &[u8], at: usize, belongs: ByteTest) -> usize {
        match text[at..].iter().position(|byte| !belongs(*byte)) {
            None => text.len(),
            Some(rest) => {
                self.state = RedactState::Text;
                at + rest
            }
        }
    }

    fn key(&mut self, text: &[u8], at: usize, left: usize, last: bool) -> (usize, bool) {
        let window = &text[at..text.len().min(at + left)];
        if let Some(end) = memchr::memmem::find(window, KEY_WORDS) {
            self.state = RedactState::Text;
            return (at + end + KEY_WORDS.len(), false);
        }
        if window.len() == left || last {
            self.state = RedactState::Text;
            return (at + window.len(), false);
        }
        let passed = window.len() - window.len().min(KEY_WORDS.len() - 1);
        self.state = RedactState::Key(left - passed);
        (at + passed, true)
    }

    fn before(&self, text: &[u8], at: usize) -> [u8; 2] {
        match &text[..at] {
            [] => self.before,
            [one] => [self.before[1], *one],
            [.., two, one] => [*two, *one],
        }
    }
}

enum Look {
    Nothing,
    Perhaps,
    Secret(FoundSecret),
}

#[derive(Clone, Copy)]
struct FoundSecret {
    keep: usize,
    /// How long it is, as far as is seen.
    length: usize,
    then: RedactState,
}

/// The values looked for, and which three bytes a secret can begin with.
struct KnownSecrets {
    values: Vec<Vec<u8>>,
    /// A bit for each [`place`]; a few other bytes may share one.
    triples: Box<[u64; 1024]>,
    firsts: [bool; 256],
    /// The shapes by their first byte: most text is asked about a few of them only.
    shapes: Vec<Vec<TokenShape>>,
}

impl Default for KnownSecrets {
    fn default() -> KnownSecrets {
        KnownSecrets::new(Vec::new())
    }
}

impl KnownSecrets {
    fn new(values: Vec<Vec<u8>>) -> KnownSecrets {
        let mut known = KnownSecrets {
            values: Vec::new(),
            triples: Box::new([0; 1024]),
            firsts: [false; 256],
            shapes: vec![Vec::new(); 256],
        };
        for value in &values {
            known.begin(value);
        }
        for shape in shapes() {
            let one = shape.prefix[0];
            known.begin(shape.prefix);
            known.shapes[usize::from(one)].push(shape);
            if shape.kind == ShapeKind::Header {
                known.begin_any_case(shape.prefix);
                known.shapes[usize::from(one.to_ascii_uppercase())].push(shape);
            }
        }
        known.begin(SCHEME_END);
        known.begin(KEY_BEGIN);
        known.values = values;
        known
    }

    fn begin(&mut self, text: &[u8]) {
        self.firsts[usize::from(text[0])] = true;
        let place = place([text[0], text[1], text[2]]);
        self.triples[place / 64] |= 1 << (place % 64);
    }

    fn begin_any_case(&mut self, text: &[u8]) {
        let cases = |byte: u8| [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
        for one in cases(text[0]) {
            for two in cases(text[1]) {
                for three in cases(text[2]) {
                    self.begin(&[one, two, three]);
                }
            }
        }
    }

    /// The next place where a secret may begin, or the end.
    fn next_candidate(&self, text: &[u8], from: usize) -> usize {
        let Some(rest) = text.get(from..) else { return text.len() };
        let may_begin = |one, two, three| {
            let place = place([one, two, three]);
            self.triples[place / 64] >> (place % 64) & 1
        };
        // Eight places at a time, with one branch for all: nearly always nothing begins there.
        let is_plain = |bytes: &[u8; 10]| {
            (0..8).fold(0, |any, at| any | may_begin(bytes[at], bytes[at + 1], bytes[at + 2])) == 0
        };
        let mut plain = 0;
        while rest[plain..].first_chunk().is_some_and(is_plain) {
            plain += 8;
        }
        let three = |three: &[u8]| may_begin(three[0], three[1], three[2]) == 1;
        if let Some(found) = rest[plain..].windows(3).position(three) {
            return from + plain + found;
        }
        // What the last two bytes begin, only more text can tell.
        let end = &rest[rest.len().saturating_sub(2)..];
        let found = end.iter().position(|byte| self.firsts[usize::from(*byte)]);
        text.len() - end.len() + found.unwrap_or(end.len())
    }

    /// What begins here. The answer is the same however much text follows, but for [`Look::Perhaps`].
    fn look(&self, rest: &[u8], before: [u8; 2], last: bool) -> Look {
        let values = self.values.iter().map(|value| look_value(value, rest, last));
        let shapes = rest.first().map_or(&[][..], |first| &self.shapes[usize::from(*first)]);
        let shapes = shapes.iter().map(|shape| shape.look(rest, before, last));
        let others = [look_userinfo(rest, last), look_key(rest, last)];
        let mut found: Option<FoundSecret> = None;
        for look in values.chain(shapes).chain(others) {
            match look {
                Look::Nothing => {}
                Look::Perhaps => return Look::Perhaps,
                Look::Secret(secret) => {
                    found = Some(found.map_or(secret, |other| longer(other, secret)));
                }
            }
        }
        found.map_or(Look::Nothing, Look::Secret)
    }
}

/// One of 65536 places for three bytes, spread by the golden ratio.
fn place([one, two, three]: [u8; 3]) -> usize {
    (u32::from_le_bytes([one, two, three, 0]).wrapping_mul(0x9E37_79B1) >> 16) as usize
}

fn longer(one: FoundSecret, two: FoundSecret) -> FoundSecret {
    let longest = if two.length >= one.length { two } else { one };
    FoundSecret { keep: one.keep.min(two.keep), ..longest }
}

fn look_value(value: &[u8], rest: &[u8], last: bool) -> Look {
    if rest.starts_with(value) {
        Look::Secret(FoundSecret { keep: 0, length: value.len(), then: RedactState::Text })
    } else if !last && value.starts_with(rest) {
        Look::Perhaps
    } else {
        Look::Nothing
    }
}

/// `://user:password@`, up to the last `@` of the authority: a password may hold one too.
fn look_userinfo(rest: &[u8], last: bool) -> Look {
    if !rest.starts_with(SCHEME_END) {
        let may = !last && SCHEME_END.starts_with(rest);
        return if may { Look::Perhaps } else { Look::Nothing };
    }
    let window = &rest[SCHEME_END.len()..rest.len().min(SCHEME_END.len() + LONGEST_USERINFO)];
    let authority = match window.iter().position(|byte| ends_authority(*byte)) {
        Some(end) => &window[..end],
        None if last || window.len() == LONGEST_USERINFO => window,
        None => return Look::Perhaps,
    };
    let Some(length) = memchr::memrchr(b'@', authority) else { return Look::Nothing };
    if length < TOKEN_AS_USER && !authority[..length].contains(&b':') {
        return Look::Nothing;
    }
    Look::Secret(FoundSecret {
        keep: SCHEME_END.len(),
        length: SCHEME_END.len() + length,
        then: RedactState::Text,
    })
}

fn ends_authority(byte: u8) -> bool {
    byte <= b' ' || b"/?#\"'<>\\`".contains(&byte)
}

/// `-----BEGIN … PRIVATE KEY-----`.
fn look_key(rest: &[u8], last: bool) -> Look {
    if !rest.starts_with(KEY_BEGIN) {
        let may = !last && KEY_BEGIN.starts_with(rest);
        return if may { Look::Perhaps } else { Look::Nothing };
    }
    let longest = KEY_BEGIN.len() + KEY_KIND + KEY_WORDS.len();
    let window = &rest[..rest.len().min(longest)];
    match memchr::memmem::find(window, KEY_WORDS) {
        Some(at) => {
            let then = RedactState::Key(LONGEST_KEY);
            Look::Secret(FoundSecret { keep: 0, length: at + KEY_WORDS.len(), then })
        }
        None if !last && window.len() < longest => Look::Perhaps,
        None => Look::Nothing,
    }
}

type ByteTest = fn(u8) -> bool;

#[derive(Clone, Copy)]
struct TokenShape {
    kind: ShapeKind,
    prefix: &'static [u8],
    belongs: ByteTest,
    /// How many such bytes make it a token.
    least: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ShapeKind {
    Token,
    /// A token only where a word begins: `task-…` is no key.
    Alone,
    /// The prefix is no secret, and written in any letter case.
    Header,
}

impl TokenShape {
    fn look(&self, rest: &[u8], before: [u8; 2], last: bool) -> Look {
        if self.kind == ShapeKind::Alone && !begins_word(before) {
            return Look::Nothing;
        }
        let seen = self.prefix.len().min(rest.len());
        let is_header = self.kind == ShapeKind::Header;
        let same = match is_header {
            true => self.prefix[..seen].eq_ignore_ascii_case(&rest[..seen]),
            false => self.prefix[..seen] == rest[..seen],
        };
        if !same {
            return Look::Nothing;
        }
        let body = &rest[seen..];
        let run = body.iter().position(|byte| !(self.belongs)(*byte)).unwrap_or(body.len());
        if seen == self.prefix.len() && run >= self.least {
            let keep = if is_header { seen } else { 0 };
            let then = RedactState::Token(self.belongs);
            return Look::Secret(FoundSecret { keep, length: seen + run, then });
        }
        if !last && run == body.len() { Look::Perhaps } else { Look::Nothing }
    }
}

/// From the services' own documents; the lengths are well below the real ones, and well above what people write.
const SHAPES: &[(ShapeKind, &[&str], ByteTest, usize)] = &[
    (ShapeKind::Token, &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "lin_api_"], is_word, 20),
    (ShapeKind::Token, &["glpat-", "sk-ant-", "sk-proj-", "sk-svcacct-"], is_word_or_dash, 16),
    (ShapeKind::Token, &["sk-admin-", "sk-or-v1-"], is_word_or_dash, 16),
    (ShapeKind::Token, &["xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xapp-"], is_word_or_dash, 10),
    // Atlassian's, and JSON web tokens: `{"alg":` and `{"typ":`.
    (ShapeKind::Token, &["ATATT3", "eyJhbGciOi", "eyJ0eXAiOi"], is_token68, 20),
    (ShapeKind::Alone, &["sk-"], is_alphanumeric, 20),
    (ShapeKind::Alone, &["npm_"], is_alphanumeric, 30),
    (ShapeKind::Alone, &["AKIA", "ASIA"], is_upper_or_digit, 16),
    (ShapeKind::Alone, &["AIza"], is_word_or_dash, 30),
    (ShapeKind::Header, &["bearer "], is_token68, 16),
    (ShapeKind::Header, &["authorization: basic ", "authorization: token "], is_token68, 8),
];

fn shapes() -> impl Iterator<Item = TokenShape> {
    SHAPES.iter().flat_map(|(kind, prefixes, belongs, least)| {
        let shape = |prefix: &&'static str| TokenShape {
            kind: *kind,
            prefix: prefix.as_bytes(),
            belongs: *belongs,
            least: *least,
        };
        prefixes.iter().map(shape)
    })
}

/// Whether a word can begin behind these bytes; inside JSON a line may have ended with `\n`.
fn begins_word([two, one]: [u8; 2]) -> bool {
    !is_word_or_dash(one) || (two == b'\\' && b"bfnrt".contains(&one))
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_word_or_dash(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// What RFC 7235 allows in a token.
fn is_token68(byte: u8) -> bool {
    is_word_or_dash(byte) || b".~+/=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Redactor, Secrets, redact};

    fn secrets() -> Secrets {
        Secrets::new(["hunter22", "pass \"quoted\"\nline", "hunter22-longer", "tiny", "pässwörd"])
    }

    fn in_chunks(text: &str, secrets: &Secrets, mut chunk: impl FnMut() -> usize) -> String {
        let (mut redactor, mut out, mut rest) = (Redactor::new(secrets), Vec::new(), text.as_bytes());
        while !rest.is_empty() {
            let (now, later) = rest.split_at(chunk().clamp(1, rest.len()));
            redactor.push(now, &mut out);
            rest = later;
        }
        redactor.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn check(text: &str, expect: &str) {
        assert_eq!(redact(text, &secrets()), expect);
        for chunk in [1, 2, 3, 7, 19] {
            assert_eq!(in_chunks(text, &secrets(), || chunk), expect, "{text:?} in chunks of {chunk}");
        }
    }

    #[test]
    fn known_values_go_wherever_they_stand() {
        check("hunter22", "[redacted]");
        check("ahunter22b hunter2", "a[redacted]b hunter2");
        check("hunter22-longer hunter22-long", "[redacted] [redacted]-long");
        check("hunter22hunter22", "[redacted][redacted]");
        check("ein pässwörd, das", "ein [redacted], das");
        // As an agent's stream spells it.
        check(r#"{"t":"pass \"quoted\"\nline"}"#, r#"{"t":"[redacted]"}"#);
        check("pass \"quoted\"\nline", "[redacted]");
        // Too short to be looked for.
        check("a tiny thing", "a tiny thing");
    }

    #[test]
    fn shapes_go_without_being_known() {
        for token in [
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "ghs_abcdefghijklmnopqrstuvwxyz0123456789",
            "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
            "glpat-abcdefghij_klmnopqrst",
            "sk-ant-api03-abc_def-ghijklmnop",
            "sk-proj-abc_def-ghijklmnop",
            "sk-abcdefghijklmnopqrstuvwxyz012345",
            "AKIAIOSFODNN7EXAMPLE",
            "xoxb-1234567890-abcdef",
            "AIzaSyA0123456789abcdefghijklmnopqrstuv",
            "lin_api_abcdefghijklmnopqrstuvwx",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        ] {
            check(
                &format!("see {token}."),
                &"see [redacted].".replace('.', if token.contains('.') { "" } else { "." }),
            );
            check(&format!(r#"{{"text":"one\n{token}"}}"#), r#"{"text":"one\n[redacted]"}"#);
            check(token, "[redacted]");
        }
    }

    #[test]
    fn headers_addresses_and_keys_keep_what_is_no_secret() {
        check("Authorization: Bearer abcdefghijklmnop1234\n", "Authorization: Bearer [redacted]\n");
        check("authorization: Basic dXNlcjpwYXNz x", "authorization: Basic [redacted] x");
        check("https://me:secret@host/x", "https://[redacted]@host/x");
        check("https://me:p@ss@host/x a@b", "https://[redacted]@host/x a@b");
        check("https://0123456789abcdefghij@host", "https://[redacted]@host");
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----";
        check(&format!("a\n{key}\nb"), "a\n[redacted]\nb");
        check("-----BEGIN PRIVATE KEY-----\nMII cut off", "[redacted]");
    }

    #[test]
    fn prose_and_code_stay_as_they_are() {
        for text in [
            "",
            "task-abcdefghijklmnopqrstuvwxyz",
            "sk-learn and disk-usage",
            "the bearer of this letter",
            "ssh://git@host/x https://host:8080/a@b http://[::1]:80/",
            "ghp_short AKIAshort github_pat_ sk- xox AIza eyJ",
            "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
            "0199a1b2-c3d4-7000-8000-000000000000",
            "täsk ✓ :// ://",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn what_is_held_back_is_bounded() {
        let mut redactor = Redactor::new(&secrets());
        let (mut out, mut held) = (Vec::new(), 0);
        for piece in ["://", "ghp_", "-----BEGIN ", "a", "hunter2"].iter().cycle().take(5000) {
            redactor.push(piece.as_bytes(), &mut out);
            held = held.max(redactor.held.len());
        }
        redactor.push("://".as_bytes(), &mut out);
        for _ in 0..5000 {
            redactor.push(b"abc", &mut out);
            held = held.max(redactor.held.len());
        }
        assert!(held <= 1100, "{held} bytes were held back");
    }

    #[test]
    fn a_reader_who_begins_in_the_middle_agrees_with_the_others_after_twice_the_reach() {
        let key =
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", "MIIhunter2\n".repeat(900));
        let part = format!("hunter22-longer, {key} and https://me:p@ss@host/ ghp_{} ", "a".repeat(36));
        let (text, secrets) = (part.repeat(12), secrets());
        let margin = 2 * secrets.reach();
        let end = &redact(&text, &secrets)[..];
        for from in (0..part.len()).step_by(61) {
            let (mut redactor, mut out) = (Redactor::new(&secrets), Vec::new());
            redactor.push(&text.as_bytes()[from..from + margin], &mut out);
            out.clear();
            redactor.push(&text.as_bytes()[from + margin..], &mut out);
            redactor.finish(&mut out);
            assert!(out.len() > 100 && end.as_bytes().ends_with(&out), "from {from}");
        }
    }

    #[test]
    fn a_secret_is_not_told_by_debug() {
        assert_eq!(format!("{:?}", secrets()), "Secrets(5 known)");
    }

    fn planted() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("hunter22".to_owned()),
            Just("hunter22-longer".to_owned()),
            "ghp_[A-Za-z0-9]{36}",
            "github_pat_[A-Za-z0-9_]{30,80}",
            "sk-ant-api03-[A-Za-z0-9_-]{40,90}",
            "xox[baprs]-[0-9]{10}-[a-z0-9]{10}",
            "glpat-[A-Za-z0-9_-]{20}",
        ]
    }

    fn noise() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~]{0,20}",
            "[a-z:/@ .\\\\n\"-]{0,12}",
            Just("hunter2".to_owned()),
            Just("sk-ant-".to_owned()),
            Just("://".to_owned()),
            Just("-----BEGIN ".to_owned()),
            Just("Bearer ".to_owned()),
            "\\PC{0,6}",
        ]
    }

    proptest! {
        #[test]
        fn no_planted_secret_survives_any_chunking(
            parts in prop::collection::vec((noise(), planted()), 1..6),
            sizes in prop::collection::vec(1..40_usize, 1..50),
        ) {
            let text: String = parts.iter().flat_map(|(noise, secret)| [noise.as_str(), secret]).collect();
            let secrets = secrets();
            let whole = redact(&text, &secrets);
            for (_, secret) in &parts {
                prop_assert!(!whole.contains(secret.as_str()), "{secret} survived in {whole:?}");
            }
            let mut sizes = sizes.iter().copied().cycle();
            prop_assert_eq!(&in_chunks(&text, &secrets, || sizes.next().unwrap_or(1)), &whole);
            prop_assert_eq!(&in_chunks(&text, &secrets, || 1), &whole);
        }
    }
}
