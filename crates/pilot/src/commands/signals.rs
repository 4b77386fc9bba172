//! `pilot signals`: the signals in an agent's text, or in a transcript of what it printed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};
use pilot_core::signal::{Found, Scanner, Stripper};
use pilot_core::stream::Decoder;
use pilot_core::transcript::{Messages, TranscriptPart};
use serde::Serialize;

use crate::stdout::Stdout;

/// Read at a time; what is printed is flushed as often, so that a live transcript shows up live.
const CHUNK: usize = 256 * 1024;

const HELP: &str = "\
Examples:
  printf '<pilot:completed>done</pilot:completed>' | pilot signals
  pilot signals answer.md
  pilot signals --strip answer.md
  pilot signals --input stream-json transcript.jsonl
  pilot signals --input stream-json --agent codex transcript.jsonl

A mark that counts is printed as an event, one that does not as a diagnostic with the reason. Both are one JSON object \
a line, in order of appearance, with the byte span of the mark. Bad marks are no failure: the exit code is 0 unless \
the input cannot be read.
";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SignalsArgs {
    /// What the input is [default: text, or stream-json with --agent]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) input: Option<SignalsInput>,

    /// Whose transcript it is [default: recognised by its first lines]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) agent: Option<AgentName>,

    /// Print the text for people instead: marks that count are removed, everything else stays as it is
    #[arg(long)]
    pub(crate) strip: bool,

    /// The file to read; standard input when it is `-` or absent
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SignalsInput {
    /// One message, as the agent wrote it
    Text,
    /// A transcript: the lines an agent printed, of which only its own top-level text is scanned
    StreamJson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentName {
    /// Claude Code, `--output-format stream-json`
    Claude,
    /// Codex, `exec --json`
    Codex,
    /// OpenCode, `run --format json`
    #[value(name = "opencode")]
    OpenCode,
    /// Gemini CLI, `--output-format stream-json`
    Gemini,
    /// Qwen Code, `--output-format stream-json`
    Qwen,
}

impl From<AgentName> for pilot_core::stream::Agent {
    fn from(agent: AgentName) -> Self {
        match agent {
            AgentName::Claude => Self::Claude,
            AgentName::Codex => Self::Codex,
            AgentName::OpenCode => Self::Opencode,
            AgentName::Gemini => Self::Gemini,
            AgentName::Qwen => Self::Qwen,
        }
    }
}

pub(crate) fn run(args: &SignalsArgs) -> anyhow::Result<ExitCode> {
    if args.input == Some(SignalsInput::Text) && args.agent.is_some() {
        return Ok(wrong_use(
            "a text has no agent: leave --agent out, or read a transcript with --input stream-json",
        ));
    }
    let input = match open(args.file.as_deref()) {
        Ok(input) => input,
        Err(error) => return Ok(wrong_use(&format!("{error:#}; name a file that can be read, or `-`"))),
    };
    let mut stdout = Stdout::lock();
    match args.input.unwrap_or(if args.agent.is_some() {
        SignalsInput::StreamJson
    } else {
        SignalsInput::Text
    }) {
        SignalsInput::Text => print_text(input, args.strip, &mut stdout)?,
        SignalsInput::StreamJson => {
            let decoder = args.agent.map_or_else(Decoder::detecting, |agent| Decoder::new(agent.into()));
            let messages = print_transcript(input, decoder, args.strip, &mut stdout)?;
            stdout.flush()?;
            report_undecoded(&messages);
        }
    }
    stdout.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn wrong_use(what: &str) -> ExitCode {
    eprintln!("pilot: {what}");
    ExitCode::from(2)
}

fn open(file: Option<&Path>) -> anyhow::Result<Box<dyn Read>> {
    match file.filter(|path| *path != Path::new("-")) {
        None => Ok(Box::new(io::stdin().lock())),
        Some(path) => {
            let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
            Ok(Box::new(file))
        }
    }
}

fn each_chunk(mut input: impl Read, mut sink: impl FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match input.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(read) => sink(&chunk[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("read the input"),
        }
    }
}

fn print_text(input: impl Read, strip: bool, out: &mut impl Write) -> anyhow::Result<()> {
    let mut printer = Printer::new(strip);
    each_chunk(input, |bytes| {
        printer.push(bytes);
        printer.print(None, out)
    })?;
    printer.finish();
    printer.print(None, out)
}

fn print_transcript(
    input: impl Read,
    decoder: Decoder,
    strip: bool,
    out: &mut impl Write,
) -> anyhow::Result<Messages> {
    let (mut messages, mut printer) = (Messages::new(decoder), Printer::new(strip));
    let mut printed = Ok(());
    let mut hear = |at: u64, part: TranscriptPart<'_>| {
        match part {
            TranscriptPart::Text(text) => printer.push(text.as_bytes()),
            TranscriptPart::End => printer.finish_line(),
        }
        if printed.is_ok() {
            printed = printer.print(Some(at), out);
        }
    };
    each_chunk(input, |bytes| {
        messages.push(bytes, &mut hear);
        Ok(())
    })?;
    messages.finish(&mut hear);
    printed?;
    Ok(messages)
}

/// Reports what the printed signals do not show: lines that could not be decoded.
fn report_undecoded(messages: &Messages) {
    let counters = messages.counters();
    if messages.decoder().agent().is_none() && counters.lines > 0 {
        eprintln!("pilot: no line shows which agent this is; name it with --agent");
    } else if counters.undecodable > 0 {
        eprintln!("pilot: {} of {} lines could not be decoded", counters.undecodable, counters.lines);
    }
}

/// Prints what is found in one message after another, or the text that is left for people.
enum Printer {
    Found(Box<Scanner>),
    Text { stripper: Box<Stripper>, text: Vec<u8> },
}

impl Printer {
    fn new(strip: bool) -> Printer {
        match strip {
            false => Printer::Found(Box::default()),
            true => Printer::Text { stripper: Box::default(), text: Vec::new() },
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        match self {
            Printer::Found(scanner) => scanner.push(bytes),
            Printer::Text { stripper, text } => stripper.push(bytes, text),
        }
    }

    fn finish(&mut self) {
        match self {
            Printer::Found(scanner) => scanner.finish(),
            Printer::Text { stripper, text } => stripper.finish(text),
        }
    }

    /// Ends a message that others may follow: its text, if it has any, ends its line.
    fn finish_line(&mut self) {
        self.finish();
        if let Printer::Text { text, .. } = self
            && !text.is_empty()
            && !text.ends_with(b"\n")
        {
            text.push(b'\n');
        }
    }

    fn print(&mut self, at: Option<u64>, out: &mut impl Write) -> anyhow::Result<()> {
        match self {
            Printer::Found(scanner) => print_found(scanner, at, out),
            Printer::Text { text, .. } => {
                out.write_all(text)?;
                text.clear();
                Ok(())
            }
        }
    }
}

/// A find, with the line of the transcript its message starts on.
#[derive(Serialize)]
struct SignalRow<'a, T> {
    #[serde(flatten)]
    found: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
}

fn print_found(scanner: &mut Scanner, at: Option<u64>, out: &mut impl Write) -> anyhow::Result<()> {
    let mut any = false;
    while let Some(found) = scanner.next_found() {
        let mut row = match found {
            Found::Signal(signal) => serde_json::to_vec(&SignalRow { found: &*signal, at })?,
            Found::Diagnostic(diagnostic) => serde_json::to_vec(&SignalRow { found: &diagnostic, at })?,
            Found::Wrapper(_) => continue,
        };
        row.push(b'\n');
        out.write_all(&row)?;
        any = true;
    }
    if any {
        out.flush()?;
    }
    Ok(())
}
