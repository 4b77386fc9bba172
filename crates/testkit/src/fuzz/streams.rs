//! The laws of the decoders.

use std::collections::HashMap;

use pilot_core::stream::{
    Agent, AgentEvent, Decoder, LineReader, StreamCounters, StreamLine, TOOL_RESULT_LIMIT, UsageMeter,
};
use pilot_core::transcript::{Messages, TranscriptPart};
use serde::de::IgnoredAny;

use super::cuts;
use super::message::shown;

/// Panics when a decoder breaks a law on this output.
pub(super) fn check(output: &[u8]) {
    lines_are_cut_alike(output);
    for agent in [None].into_iter().chain(Agent::ALL.map(Some)) {
        let new = || agent.map_or_else(Decoder::detecting, Decoder::new);
        let heard = decode(new(), output);
        counters_add_up(output, &heard);
        lines_are_answered(output, &heard);
        messages_are_what_was_said(new, output, &heard);
    }
}

/// What a decoder said of each line, and at the end.
struct Heard {
    agent: Option<Agent>,
    lines: Vec<Vec<Said>>,
    counters: StreamCounters,
}

/// What matters here of one event.
#[derive(Debug, PartialEq)]
enum Said {
    Text { ordinal: u64, delta: bool, top_level: bool, text: String },
    MessageEnd,
    Unknown,
    Undecodable(u64),
    Other,
}

fn decode(mut decoder: Decoder, output: &[u8]) -> Heard {
    let mut meter = UsageMeter::default();
    let (mut lines, mut said) = (Vec::new(), Vec::new());
    for line in naive_lines(output) {
        decoder.line(line, &mut |event| said.push(hear(&event, &mut meter)));
        lines.push(std::mem::take(&mut said));
    }
    decoder.finish(&mut |event| said.push(hear(&event, &mut meter)));
    let rest: Vec<&Said> = said.iter().filter(|said| **said != Said::MessageEnd).collect();
    assert!(rest.is_empty(), "said at the end: {rest:?}\n{}", shown(output));
    Heard { agent: decoder.agent(), lines, counters: decoder.counters() }
}

fn hear(event: &AgentEvent<'_>, meter: &mut UsageMeter) -> Said {
    meter.observe(event);
    let cost = meter.totals().usage.cost_usd.unwrap_or_default();
    assert!(cost >= 0.0, "a cost of {cost} behind {event:?}");
    if let AgentEvent::ToolResult { content, .. } = event {
        assert!(content.len() <= TOOL_RESULT_LIMIT, "a tool's output of {} bytes", content.len());
    }
    if let AgentEvent::Text(text) = event {
        Said::Text {
            ordinal: text.ordinal,
            delta: text.delta,
            top_level: text.parent.is_none(),
            text: text.text.clone().into_owned(),
        }
    } else if let AgentEvent::Undecodable { bytes, .. } = event {
        Said::Undecodable(*bytes)
    } else if matches!(event, AgentEvent::MessageEnd { .. }) {
        Said::MessageEnd
    } else if matches!(event, AgentEvent::Unknown { .. }) {
        Said::Unknown
    } else {
        Said::Other
    }
}

fn counters_add_up(output: &[u8], heard: &Heard) {
    let count =
        |wanted: fn(&Said) -> bool| heard.lines.iter().flatten().filter(|said| wanted(said)).count() as u64;
    let counted = StreamCounters {
        lines: heard.lines.len() as u64,
        unknown: count(|said| matches!(said, Said::Unknown)),
        undecodable: count(|said| matches!(said, Said::Undecodable(_))),
    };
    assert_eq!(heard.counters, counted, "{:?}\n{}", heard.agent, shown(output));
}

/// A blank line says nothing, every other something; one that is no JSON object says that it is not, and nothing else.
fn lines_are_answered(output: &[u8], heard: &Heard) {
    for (line, said) in naive_lines(output).into_iter().zip(&heard.lines) {
        let fine = if is_blank(line) {
            said.is_empty()
        } else if is_object(line) {
            !said.is_empty()
                && (said.len() == 1 || !said.iter().any(|said| matches!(said, Said::Undecodable(_))))
        } else {
            *said == [Said::Undecodable(line.len() as u64)]
        };
        assert!(fine, "{:?} says {said:?} of b\"{}\"", heard.agent, line.escape_ascii());
    }
}

/// The messages are the agent's own texts, pieces of one message joined, however the output is cut.
fn messages_are_what_was_said(new: impl Fn() -> Decoder, output: &[u8], heard: &Heard) {
    let expected = said_messages(heard);
    for way in [vec![output]].into_iter().chain(cuts::ways(output)) {
        let (mut messages, mut read) = (Messages::new(new()), ReadMessages::default());
        way.iter().for_each(|chunk| messages.push(chunk, &mut |at, part| read.take(at, part)));
        messages.finish(&mut |at, part| read.take(at, part));
        let sizes: Vec<usize> = way.iter().map(|chunk| chunk.len()).take(40).collect();
        let by = heard.agent;
        assert!(read.open.is_none(), "{by:?}: open at the end, chunks {sizes:?}\n{}", shown(output));
        assert_eq!(read.whole, expected, "{by:?}, chunks of {sizes:?} bytes\n{}", shown(output));
        assert_eq!(messages.counters(), heard.counters, "{by:?}, chunks {sizes:?}\n{}", shown(output));
    }
}

/// The messages by the ordinals of their pieces, each with the line it starts on.
fn said_messages(heard: &Heard) -> Vec<(u64, String)> {
    let mut messages: Vec<(u64, String)> = Vec::new();
    let mut by_ordinal: HashMap<u64, usize> = HashMap::new();
    for (at, line) in (0..).zip(&heard.lines) {
        for said in line {
            if let Said::Text { ordinal, top_level: true, delta, text } = said {
                let index = *by_ordinal.entry(*ordinal).or_insert_with(|| {
                    messages.push((at, String::new()));
                    messages.len() - 1
                });
                assert!(*delta || messages[index].1.is_empty(), "two whole texts numbered {ordinal}");
                messages[index].1.push_str(text);
            }
        }
    }
    messages
}

#[derive(Default)]
struct ReadMessages {
    open: Option<(u64, String)>,
    whole: Vec<(u64, String)>,
}

impl ReadMessages {
    fn take(&mut self, at: u64, part: TranscriptPart<'_>) {
        match part {
            TranscriptPart::Text(text) => {
                let open = self.open.get_or_insert_with(|| (at, String::new()));
                assert_eq!(open.0, at, "a message on two lines");
                open.1.push_str(text);
            }
            TranscriptPart::End => {
                let open = self.open.take().expect("only a message that began can end");
                assert_eq!(open.0, at, "a message on two lines");
                self.whole.push(open);
            }
        }
    }
}

/// With a small limit too, so that it is reached.
fn lines_are_cut_alike(output: &[u8]) {
    let limit = 1 + output.len() % 61;
    let cut = |line: &[u8]| {
        let kept = line.len() <= limit;
        if kept { Ok(line.strip_suffix(b"\r").unwrap_or(line).to_vec()) } else { Err(line.len() as u64) }
    };
    let expected: Vec<Result<Vec<u8>, u64>> = naive_split(output).into_iter().map(cut).collect();
    for way in cuts::ways(output) {
        let (mut reader, mut lines) = (LineReader::with_limit(limit), Vec::new());
        let mut sink = |line: StreamLine<'_>| {
            lines.push(match line {
                StreamLine::Whole(bytes) => Ok(bytes.to_vec()),
                StreamLine::Oversized { bytes } => Err(bytes),
            });
        };
        way.iter().for_each(|chunk| reader.push(chunk, &mut sink));
        reader.finish(&mut sink);
        assert_eq!(lines, expected, "lines up to {limit} bytes\n{}", shown(output));
    }
}

/// The lines, without line feeds; what follows the last line feed is a line when there is anything.
fn naive_split(output: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = output.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// The same without the carriage returns that end them.
fn naive_lines(output: &[u8]) -> Vec<&[u8]> {
    naive_split(output).into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

fn is_object(line: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(line) else { return false };
    let text = text.trim_ascii();
    text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}
