//! Token mix: messages made of what marks and Markdown are made of.

/// No message is longer, so that a run of tokens that repeat stays bounded.
const LONGEST: usize = 1_200_000;

/// Sizes at which something ends to fit: a tag, a code span's line, a mark, an update.
const LIMITS: [usize; 4] = [1 << 12, 1 << 12, 1 << 18, 1 << 20];

/// What messages are made of. A byte picks one; those behind the last repeat or escape, see `message`.
pub const TOKENS: &[&[u8]] = &[
    // White space and line endings.
    b"\n",
    b"\r\n",
    b"\n\n",
    b" ",
    b"   ",
    b"    ",
    b"\t",
    b"\r",
    b"\x0c",
    b"\n",
    b"\n",
    // Words.
    b"word",
    b"a",
    b"0",
    b"Done.",
    "é".as_bytes(),
    "→".as_bytes(),
    // The XML dialect.
    b"<pilot:",
    b"<pilot:completed",
    b"<pilot:skip",
    b"<pilot:approve",
    b"<pilot:reject",
    b"<pilot:blocked",
    b"<pilot:emit",
    b"<pilot:update",
    b"<pilot:complete",
    b"<Pilot:skip",
    b"<pilot:skip/>",
    b"<pilot:approve/>",
    b"<pilot:approve>",
    b"<pilot:completed>",
    b"<pilot:emit key=\"k\">",
    b"<pilot:update path='a.txt'>",
    b"</pilot:",
    b"</pilot:completed>",
    b"</pilot:skip>",
    b"</pilot:approve>",
    b"</pilot:reject >",
    b"</pilot:blocked>",
    b"</pilot:emit>",
    b"</pilot:update>",
    b"</pilot:update\n>",
    b" key=\"k\"",
    b" key = 'k'",
    b" key=\"\"",
    b" path=\"a.txt\"",
    b" path=a",
    b" other='>'",
    b" key=\"&lt;&amp;&#65;\"",
    b"/>",
    b">",
    b"<",
    b"/",
    b"=",
    b"\"",
    b"'",
    b"<![CDATA[",
    b"]]>",
    b"]]",
    // The v2 dialect.
    b"```pilot-signal\n",
    b"```pilot-signal",
    b"~~~ pilot-signal json\n",
    b"````pilot-signal\r\n",
    b"```pilot-signal {\"phase\":\"IMPL\"} ```",
    b"pilot-signal",
    b"{\"phase\":\"IMPL\",\"iteration\":2}",
    b"{\"type\":\"exit\",\"success\":false,\"reason\":\"r\"}",
    b"{\"progress\":\"65.5\"}",
    b"{\"progress\":1e9,\"iteration\":-1}",
    b"{\"type\":\"own\",\"v\":2,\"indicators\":{\"a\":[1]}}",
    b"{}",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"phase\":",
    b",",
    b":",
    b"null",
    b"\\",
    b"\\u",
    // The v3 dialect.
    b"nav-signal:v3:",
    b"nav-signal:v3:{\"type\":\"exit\"}",
    b"nav-signal:v3:{\"type\":\"status\",\"phase\":\"IMPL\",\"iteration\":2}\n",
    b"<!-- nav-signal:v3:{\"phase\":\"VERIFY\"} -->",
    b"nav-signal:",
    // The legacy dialect.
    b"NAVIGATOR_STATUS",
    b"\nNAVIGATOR_STATUS\n",
    b"## **NAVIGATOR_STATUS**\n",
    "━━━━━━━━━━\n".as_bytes(),
    b"==========\n",
    b"----------\n",
    b"**********",
    b"Phase: IMPL\n",
    b"Phase: IMPL (half)\nIteration: 2/5\n",
    b"- **Progress:** 65%\n",
    b"Progress: 130\n",
    b"[x] Tests passing\n",
    b"  [ ] Code changes committed\n",
    b"EXIT_SIGNAL: true\n",
    b"Label: value\n",
    "PHASE: RESEARCH → IMPL\n".as_bytes(),
    b"PHASE: -> VERIFY",
    b"LOOP COMPLETE",
    b"STAGNATION DETECTED\n",
    b"Navigator Session Started\n",
    "│ WORKFLOW CHECK ┃\n".as_bytes(),
    // The places of Markdown.
    b"```\n",
    b"```",
    b"````",
    b"~~~\n",
    b"~~~",
    b"```xml\n",
    b"`",
    b"``",
    b"> ",
    b">",
    b"\n> ",
    b"- ",
    b"\n- ",
    b"10. ",
    b"* ",
    b"#",
    b"<!--",
    b"<!-- ",
    b"-->",
    b" -->",
    b"--",
    b"\n```\n",
    b"\n```xml\n<pilot:skip/>\n```\n",
    // What terminals and files leave behind.
    b"\x1b[0m",
    b"\x1b[1;31m",
    b"\x1b]0;title\x07",
    b"\x1b]8;;u\x1b\\",
    b"\x1b[",
    b"\x1b]",
    b"\x1b(B",
    b"\x1b",
    b"\x07",
    b"\xef\xbb\xbf",
    b"\xef\xbb",
    b"\0",
    b"\xff",
    b"\xe2\x94",
    b"\xc3",
];

/// The message that `bytes` stand for. Behind the tokens, a byte means that the next one is taken as it is, or that the last
/// token repeats.
pub(super) fn message(bytes: &[u8]) -> Vec<u8> {
    let (mut message, mut last) = (Vec::new(), TOKENS[0]);
    let mut bytes = bytes.iter().copied();
    while let Some(byte) = bytes.next() {
        match TOKENS.get(usize::from(byte)) {
            Some(token) => {
                message.extend_from_slice(token);
                last = token;
            }
            None if byte < 255 => message.extend(bytes.next()),
            None => repeat(last, bytes.next().unwrap_or_default(), &mut message),
        }
        if message.len() > LONGEST {
            message.truncate(LONGEST);
            break;
        }
    }
    message
}

/// Repeats a token up to 200 times, or until it reaches about one of the limits.
fn repeat(token: &[u8], count: u8, message: &mut Vec<u8>) {
    let times = match count {
        ..200 => usize::from(count),
        200..252 => LIMITS[0] / token.len() + usize::from(count % 4),
        252.. => LIMITS[usize::from(count - 252)] / token.len() + 1,
    };
    message.extend_from_slice(&token.repeat(times));
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, TOKENS, message};

    #[test]
    fn bytes_stand_for_tokens() {
        assert!(TOKENS.len() < 250 && TOKENS.iter().all(|token| !token.is_empty()));
        assert_eq!(message(&[11, 0, 12, 255, 3]), b"word\naaaa");
        assert_eq!(message(&[254, b'~', 255]), b"~");
        assert_eq!(message(&[12, 255, 254]).len(), (1 << 18) + 2);
        assert_eq!(message(&[12, 255, 255, 255, 255, 255, 255]).len(), LONGEST);
    }
}
