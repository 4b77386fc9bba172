//! `pilot replay`: plays a recorded run.

use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pilot_core::progress::{self, Change, Progress, ToolUse};
use pilot_core::signal::{Found, Scanner, Stripper};
use pilot_core::stream::{Agent, AgentEvent, Decoder, LineReader, StreamLine};
use pilot_store::{Store, StreamKind, StreamRow};
use serde_json::json;

use super::logs::find;
use super::with_store;
use crate::config::ConfigSources;
use crate::printable;
use crate::stdout::Stdout;
use crate::tool_call::Arguments;

/// A tool use is one line of a terminal.
const WIDTH: usize = 78;

/// A line that is no JSON is shown up to here: it may be anything.
const ODD_LINE: usize = 500;

const HELP: &str = "\
Examples:
  pilot replay TASK-1a2b3c4d
  pilot replay --speed 10 TASK-1a2b3c4d
  pilot replay --json TASK-1a2b3c4d | jq -r .kind";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ReplayArgs {
    /// A task such as TASK-1a2b3c4d, whose last run is played, or the beginning of a run's id
    #[arg(value_name = "KEY")]
    pub(crate) key: String,

    /// How many times as fast as it was; 0 does not wait
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed)]
    pub(crate) speed: f64,

    /// Print what was recorded, one JSON object a line, without waiting
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &ReplayArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    with_store(sources, async |store, _| {
        let wait = async |time| tokio::time::sleep(time).await;
        print_replay(args, store, wait, &mut Stdout::lock()).await
    })
}

/// Plays a run. `wait` waits as long as the agent took.
async fn print_replay(
    args: &ReplayArgs,
    store: &Store,
    mut wait: impl AsyncFnMut(Duration),
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let run = find(store, &args.key).await?;
    let rows = store.stream(&run.id).await?;
    let (mut lines, mut screen, mut now) = (RecordedLines::default(), Screen::new(args, &run.backend), 0);
    for row in &rows {
        if let Some(pause) = pause(now, row.at_ms, args) {
            out.flush()?;
            wait(pause).await;
        }
        now = now.max(row.at_ms);
        lines.take(row, &mut |kind, line| screen.play(row.at_ms, kind, line));
        screen.print(out)?;
    }
    lines.end(&mut |kind, line| screen.play(now, kind, line));
    screen.end_message();
    screen.print(out)?;
    Ok(out.flush()?)
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed.is_finite() && speed >= 0.0 => Ok(speed),
        Ok(_) | Err(_) => Err("a speed is a number such as 2 or 0.5; 0 does not wait".to_owned()),
    }
}

fn pause(now_ms: u64, then_ms: u64, args: &ReplayArgs) -> Option<Duration> {
    let ms = then_ms.saturating_sub(now_ms);
    if args.json || args.speed == 0.0 || ms == 0 {
        return None;
    }
    Duration::try_from_secs_f64(Duration::from_millis(ms).as_secs_f64() / args.speed).ok()
}

/// The lines of a recording, whose pieces are cut anywhere.
#[derive(Default)]
struct RecordedLines {
    stdout: LineReader,
    stderr: LineReader,
}

impl RecordedLines {
    fn take(&mut self, row: &StreamRow, each: &mut dyn FnMut(StreamKind, StreamLine<'_>)) {
        match row.kind {
            StreamKind::Stdout => self.stdout.push(&row.bytes, &mut |line| each(row.kind, line)),
            StreamKind::Stderr => self.stderr.push(&row.bytes, &mut |line| each(row.kind, line)),
            // It may say that something is missing: what was begun before does not go on behind it.
            StreamKind::Note => {
                self.end(each);
                each(row.kind, StreamLine::Whole(&row.bytes));
            }
        }
    }

    fn end(&mut self, each: &mut dyn FnMut(StreamKind, StreamLine<'_>)) {
        self.stdout.finish(&mut |line| each(StreamKind::Stdout, line));
        self.stderr.finish(&mut |line| each(StreamKind::Stderr, line));
    }
}

struct Screen {
    json: bool,
    decoder: Decoder,
    scanner: Scanner,
    stripper: Stripper,
    progress: Progress,
    shown: Vec<u8>,
    /// A message has begun and not ended.
    open: bool,
    /// What was printed last did not end its line.
    mid_line: bool,
}

impl Screen {
    /// For a run of this backend; another program's output is taken for text unless its lines show otherwise.
    fn new(args: &ReplayArgs, backend: &str) -> Screen {
        let decoder = backend.parse::<Agent>().map_or_else(|_| Decoder::detecting(), Decoder::new);
        Screen {
            json: args.json,
            decoder,
            scanner: Scanner::new(),
            stripper: Stripper::default(),
            progress: Progress::default(),
            shown: Vec::new(),
            open: false,
            mid_line: false,
        }
    }

    fn play(&mut self, at_ms: u64, kind: StreamKind, line: StreamLine<'_>) {
        let text = match line {
            StreamLine::Whole(bytes) => String::from_utf8_lossy(bytes),
            StreamLine::Oversized { .. } => Cow::Borrowed(""),
        };
        match (kind, line) {
            (_, StreamLine::Whole(_)) if self.json => {
                let object = json!({"at_ms": at_ms, "kind": kind.as_str(), "line": text});
                self.shown.extend_from_slice(format!("{object}\n").as_bytes());
            }
            (_, StreamLine::Oversized { .. }) if self.json => {}
            (StreamKind::Stdout, line) => self.line(line),
            (StreamKind::Stderr, StreamLine::Whole(_)) => {
                self.own_line("stderr |", &printable::line(&text, ODD_LINE));
            }
            (StreamKind::Note, _) => {
                self.end_message();
                self.own_line("--", &text);
            }
            (StreamKind::Stderr, StreamLine::Oversized { .. }) => {}
        }
    }

    fn print(&mut self, out: &mut impl Write) -> anyhow::Result<()> {
        let shown = String::from_utf8_lossy(&self.shown);
        let shown = if self.json { Cow::Borrowed(&*shown) } else { printable::text(&shown) };
        out.write_all(shown.as_bytes())?;
        self.mid_line = self.is_mid_line();
        self.shown.clear();
        Ok(())
    }

    fn line(&mut self, line: StreamLine<'_>) {
        let mut decoder = std::mem::replace(&mut self.decoder, Decoder::detecting());
        // Until an agent is known by its lines, they are text of whatever program runs.
        let mut heard = false;
        decoder.line(line, &mut |event| {
            heard |= !matches!(event, AgentEvent::Undecodable { .. } | AgentEvent::Unknown { .. });
            self.hear(&event);
        });
        let known = decoder.agent().is_some();
        self.decoder = decoder;
        if let (StreamLine::Whole(bytes), false) = (line, heard) {
            match known {
                false => self.text(&String::from_utf8_lossy(bytes), true),
                true if bytes.trim_ascii().starts_with(b"{") || bytes.trim_ascii().is_empty() => {}
                true => self.own_line("|", &printable::line(&String::from_utf8_lossy(bytes), ODD_LINE)),
            }
        }
    }

    fn hear(&mut self, event: &AgentEvent<'_>) {
        match event {
            AgentEvent::Text(text) if text.parent.is_none() => {
                self.text(&text.text, false);
                if !text.delta {
                    self.end_message();
                }
            }
            AgentEvent::MessageEnd { .. } => self.end_message(),
            AgentEvent::ToolUse { name, input, parent, .. } => self.tool(name, input, parent.is_some()),
            AgentEvent::Denied { tool, .. } => self.own_line("!", &format!("{tool} was not allowed")),
            AgentEvent::Retry { attempt, class, .. } => {
                self.own_line("!", &format!("the model did not answer ({class}), retry {attempt}"));
            }
            AgentEvent::Failure(failure) => self.own_line("!", &failure.message),
            AgentEvent::Notice { text, .. } => self.own_line("!", text),
            AgentEvent::Fallback { from, to, .. } => {
                self.own_line("!", &format!("{to} answers instead of {from}"));
            }
            AgentEvent::Result(result) => {
                let how =
                    if result.succeeded() { "the agent says it is done" } else { "the agent says it failed" };
                self.own_line("--", how);
            }
            AgentEvent::Session { .. }
            | AgentEvent::Text(_)
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Compaction { .. }
            | AgentEvent::Refusal { .. }
            | AgentEvent::TaskStarted { .. }
            | AgentEvent::TaskEnded { .. }
            | AgentEvent::TasksRunning { .. }
            | AgentEvent::HookStarted { .. }
            | AgentEvent::HookEnded { .. }
            | AgentEvent::Alive
            | AgentEvent::Unknown { .. }
            | AgentEvent::Undecodable { .. } => {}
        }
    }

    /// Text of the agent: the marks in it are heard, and not shown.
    fn text(&mut self, text: &str, ends_line: bool) {
        for text in [text, if ends_line { "\n" } else { "" }] {
            self.scanner.push(text.as_bytes());
            self.stripper.push(text.as_bytes(), &mut self.shown);
        }
        self.open = true;
        self.signals();
    }

    fn end_message(&mut self) {
        if !self.open {
            return;
        }
        self.open = false;
        self.scanner.finish();
        self.stripper.finish(&mut self.shown);
        if self.is_mid_line() {
            self.shown.push(b'\n');
        }
        self.signals();
    }

    fn signals(&mut self) {
        let mut changed: Option<Change> = None;
        while let Some(found) = self.scanner.next_found() {
            if let Found::Signal(signal) = found {
                changed = self.progress.on_signal(&signal).or(changed);
            }
        }
        self.phase(changed);
    }

    /// A tool use is one line. What a sub-agent does says nothing about how far the run is.
    fn tool(&mut self, name: &str, input: &str, of_sub_agent: bool) {
        let arguments = Arguments::of(input);
        let about = arguments.about().map_or_else(String::new, |about| format!(": {about}"));
        let mark = if of_sub_agent { "    *" } else { "*" };
        self.own_line(mark, &printable::line(&format!("{name}{about}"), WIDTH - mark.len()));
        if !of_sub_agent {
            let (command, path) = (arguments.command.as_deref(), arguments.path.as_deref());
            let tool = ToolUse { name, command, path };
            let changed = self.progress.on_tool(&tool);
            self.phase(changed);
        }
    }

    fn phase(&mut self, changed: Option<Change>) {
        if let Some(change) = changed {
            self.own_line("==", &progress::words::line(&change.to));
        }
    }

    fn is_mid_line(&self) -> bool {
        self.shown.last().map_or(self.mid_line, |last| *last != b'\n')
    }

    /// A line that is not the agent's own: it is printed on a line of its own even in the middle of a message.
    fn own_line(&mut self, mark: &str, text: &str) {
        if self.is_mid_line() {
            self.shown.push(b'\n');
        }
        let text = printable::line(text, ODD_LINE);
        self.shown.extend_from_slice(format!("{mark} {text}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pilot_store::{Cap, Store, StreamRecorder};

    use super::{ReplayArgs, print_replay, speed};
    use crate::commands::logs::tests::{begun, store};

    const CLAUDE: &[(u64, &str)] = &[
        (
            100,
            "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n{\"type\":\"assistant\",\"message\":{\"id\":\"m\",",
        ),
        (
            900,
            "\"content\":[{\"type\":\"text\",\"text\":\"Looking.\\n```pilot-signal\\n{\\\"phase\\\":\\\"RESEARCH\\\"}\\n```\\nFound \\u001b[31mit.\"}]}}\n",
        ),
        (
            1000,
            "{\"type\":\"assistant\",\"message\":{\"id\":\"n\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Bash\",\"input\":{\"command\":\"cargo\\ntest\"}}]}}\n",
        ),
        (
            1500,
            "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"<pilot:completed/>\"}]}}\n",
        ),
        (1600, "oops, no JSON\n"),
        (
            3000,
            "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"Found it.\",\"session_id\":\"s\"}",
        ),
    ];

    async fn recorded(store: &Store, backend: &str, pieces: &[(u64, &str)]) {
        let run = begun(store, "GH-1", "Add login", backend).await;
        let mut recorder = StreamRecorder::new(store, run.id, Cap::default());
        for (at_ms, text) in pieces {
            recorder.stdout(*at_ms, text.as_bytes());
        }
        recorder.stderr(3100, b"bye\n");
        recorder.finish(store, 3200).await.unwrap();
    }

    async fn play(store: &Store, speed: f64, json: bool) -> (String, Duration) {
        let args = ReplayArgs { key: "GH-1".to_owned(), speed, json };
        let (mut out, mut waited) = (Vec::new(), Duration::ZERO);
        print_replay(&args, store, async |pause| waited += pause, &mut out).await.unwrap();
        (String::from_utf8(out).unwrap(), waited)
    }

    #[tokio::test]
    async fn a_run_plays_as_it_was_shown() {
        let (_home, store) = store().await;
        recorded(&store, "claude-code", CLAUDE).await;
        let (printed, waited) = play(&store, 2.0, false).await;
        assert_eq!(
            printed,
            "Looking.\n== research 25 %\nFound [31mit.\n* Bash: cargo test\n| oops, no JSON\nstderr | bye\n-- the agent says it is done\n"
        );
        assert_eq!(waited, Duration::from_millis(3100) / 2);
        assert_eq!(play(&store, 0.0, false).await, (printed, Duration::ZERO));
    }

    #[tokio::test]
    async fn a_program_of_any_kind_is_played_as_text() {
        let (_home, store) = store().await;
        let pieces = [(10, "one\n<pilot:completed>done"), (20, "</pilot:completed>\ntwo"), (600, " three\n")];
        recorded(&store, "command", &pieces).await;
        let (printed, _) = play(&store, 0.0, false).await;
        assert_eq!(printed, "one\n== finishing 95 %\ntwo three\nstderr | bye\n");
    }

    #[tokio::test]
    async fn json_has_every_line_and_does_not_wait() {
        let (_home, store) = store().await;
        recorded(&store, "command", &[(10, "one\ntw"), (700, "o\n"), (900, "end")]).await;
        let (printed, waited) = play(&store, 1.0, true).await;
        let expect = "{\"at_ms\":10,\"kind\":\"stdout\",\"line\":\"one\"}\n\
                      {\"at_ms\":700,\"kind\":\"stdout\",\"line\":\"two\"}\n\
                      {\"at_ms\":3100,\"kind\":\"stderr\",\"line\":\"bye\"}\n\
                      {\"at_ms\":3100,\"kind\":\"stdout\",\"line\":\"end\"}\n";
        assert_eq!((printed.as_str(), waited), (expect, Duration::ZERO));
    }

    #[tokio::test]
    async fn missing_output_is_marked_and_not_joined() {
        let (_home, store) = store().await;
        let run_ = begun(&store, "GH-1", "Add login", "command").await;
        let mut recorder = StreamRecorder::new(&store, run_.id, Cap { head: 10, tail: 10 });
        recorder.stdout(0, b"first line\nsecond line\nlast line\n");
        recorder.finish(&store, 5).await.unwrap();
        let (printed, _) = play(&store, 0.0, false).await;
        assert_eq!(printed, "first line\n-- 13 bytes of output are not kept here\nlast line\n");
    }

    #[test]
    fn a_speed_is_a_number_that_can_be_waited_for() {
        assert_eq!((speed("2"), speed("0.5"), speed("0")), (Ok(2.0), Ok(0.5), Ok(0.0)));
        for text in ["-1", "NaN", "inf", "fast", ""] {
            assert!(speed(text).is_err(), "{text}");
        }
    }
}
