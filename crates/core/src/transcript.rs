//! The messages of a transcript: what an agent itself said, out of all that it printed.
//!
//! Only top-level assistant text is a message: no prompt, no tool's output, no thinking, no sub-agent, no line that
//! cannot be decoded. Must never know what a message means.

use crate::stream::{AgentEvent, Decoder, LineReader, StreamCounters, Text};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptPart<'a> {
    Text(&'a str),
    End,
}

/// Takes the messages out of an agent's output, which may come in any chunks.
#[derive(Debug)]
pub struct Messages {
    lines: LineReader,
    state: MessageState,
}

#[derive(Debug)]
struct MessageState {
    decoder: Decoder,
    /// The index of the current line.
    at: u64,
    /// A message that comes in pieces.
    open: Option<OpenMessage>,
}

#[derive(Clone, Copy, Debug)]
struct OpenMessage {
    ordinal: u64,
    at: u64,
}

/// Where the parts of messages go, with the index of the line each message starts on.
pub type TranscriptSink<'s> = dyn FnMut(u64, TranscriptPart<'_>) + 's;

impl Messages {
    pub fn new(decoder: Decoder) -> Messages {
        Messages { lines: LineReader::new(), state: MessageState { decoder, at: 0, open: None } }
    }

    pub fn push(&mut self, bytes: &[u8], sink: &mut TranscriptSink<'_>) {
        let Messages { lines, state } = self;
        lines.push(bytes, &mut |line| {
            let MessageState { decoder, at, open } = state;
            decoder.line(line, &mut |event| hear(&event, *at, open, sink));
            *at += 1;
        });
    }

    pub fn finish(&mut self, sink: &mut TranscriptSink<'_>) {
        let Messages { lines, state } = self;
        let MessageState { decoder, at, open } = state;
        lines.finish(&mut |line| decoder.line(line, &mut |event| hear(&event, *at, open, sink)));
        decoder.finish(&mut |event| hear(&event, *at, open, sink));
        end(open, sink);
    }

    pub fn decoder(&self) -> &Decoder {
        &self.state.decoder
    }

    pub fn counters(&self) -> StreamCounters {
        self.state.decoder.counters()
    }
}

fn hear(event: &AgentEvent<'_>, at: u64, open: &mut Option<OpenMessage>, sink: &mut TranscriptSink<'_>) {
    let AgentEvent::Text(Text { ordinal, parent: None, delta, text, .. }) = event else {
        if let AgentEvent::MessageEnd { .. } = event {
            end(open, sink);
        }
        return;
    };
    if open.is_some_and(|open| !delta || open.ordinal != *ordinal) {
        end(open, sink);
    }
    let message = open.get_or_insert(OpenMessage { ordinal: *ordinal, at });
    sink(message.at, TranscriptPart::Text(text));
    if !delta {
        end(open, sink);
    }
}

fn end(open: &mut Option<OpenMessage>, sink: &mut TranscriptSink<'_>) {
    if let Some(open) = open.take() {
        sink(open.at, TranscriptPart::End);
    }
}

#[cfg(test)]
mod tests {
    use super::{Messages, TranscriptPart};
    use crate::stream::Decoder;

    fn messages(output: &str, chunk: usize) -> Vec<(u64, String)> {
        let (mut reader, mut whole, mut open) =
            (Messages::new(Decoder::detecting()), Vec::new(), String::new());
        let mut sink = |at, part: TranscriptPart<'_>| match part {
            TranscriptPart::Text(text) => open.push_str(text),
            TranscriptPart::End => whole.push((at, std::mem::take(&mut open))),
        };
        for part in output.as_bytes().chunks(chunk) {
            reader.push(part, &mut sink);
        }
        reader.finish(&mut sink);
        whole
    }

    fn check(output: &str, expect: &[(u64, &str)]) {
        for chunk in [1, 7, 100_000] {
            let found = messages(output, chunk);
            let found: Vec<(u64, &str)> = found.iter().map(|(at, text)| (*at, text.as_str())).collect();
            assert_eq!(found, expect, "in chunks of {chunk}");
        }
    }

    #[test]
    fn only_the_agents_own_top_level_text_is_a_message() {
        check(
            r#"{"type":"system","subtype":"init","session_id":"s"}
{"type":"user","message":{"role":"user","content":"the prompt <pilot:approve/>"}}
{"type":"assistant","message":{"id":"m","content":[{"type":"thinking","thinking":"no"},{"type":"text","text":"one"}]}}
{"type":"assistant","message":{"id":"n","content":[{"type":"text","text":"sub"}]},"parent_tool_use_id":"t"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"tool"}]}}
not json <pilot:approve/>
{"type":"assistant","message":{"id":"o","content":[{"type":"text","text":"two"}]}}"#,
            &[(2, "one"), (6, "two")],
        );
    }

    #[test]
    fn pieces_are_joined_until_the_message_ends() {
        check(
            r#"{"type":"init","session_id":"s","model":"m"}
{"type":"message","role":"user","content":"<pilot:approve/>"}
{"type":"message","role":"assistant","content":"<pilot:","delta":true}
{"type":"message","role":"assistant","content":"skip/>","delta":true}
{"type":"tool_use","tool_name":"read_file","tool_id":"t","parameters":{}}
{"type":"message","role":"assistant","content":"later","delta":true}
"#,
            &[(2, "<pilot:skip/>"), (5, "later")],
        );
    }
}
