//! The command lines of `pilot demo` and `pilot drill`; [`crate::demo`] carries them out.

use clap::Args;

const DEMO_HELP: &str = "\
Examples:
  pilot demo
  pilot demo --keep
  pilot demo --agent claude
  pilot demo --json | tail -1 | jq .tasks

Makes a small project on a forge of its own on this machine, files three issues, and lets Pilot work on them with a scripted \
agent: one passes, one fails CI first and is fixed, one waits for another. Nothing leaves this machine and nothing is \
written outside of a temporary folder, which is removed at the end.

With --keep the forge and the daemon keep running until Ctrl-C: open the page, sign in with the printed link, and file an
issue with the label pilot. The scripted agent takes a note of any issue; --agent works on it.

Exit codes: 0 everything was merged, 1 something was not, 130 interrupted.
";

#[derive(Debug, Args)]
#[command(after_help = DEMO_HELP)]
pub(crate) struct DemoArgs {
    /// Leave everything running afterwards, until Ctrl-C
    #[arg(long)]
    pub(crate) keep: bool,

    /// A real agent instead of the scripted one; it costs what it costs
    #[arg(long, value_name = "AGENT", value_parser = ["claude", "codex", "opencode", "gemini", "qwen"])]
    pub(crate) agent: Option<String>,

    /// Print the story as JSON, an object a line; the last one is what became of it
    #[arg(long)]
    pub(crate) json: bool,
}

const DRILL_HELP: &str = "\
Examples:
  pilot drill
  pilot drill --kills 20
  pilot drill --seed 7 --json | jq .ok

Files the demo's issues on a forge of its own on this machine, starts `pilot start` there and kills it with SIGKILL while it \
works; then starts it again, as often as asked, and lets it finish. Then the forge is checked: every issue closed, one merged \
pull request each, nothing twice, nothing left. Nothing is written outside of a temporary folder.

Exit codes: 0 everything was done once, 1 something was not, 130 interrupted.
";

#[derive(Debug, Args)]
#[command(after_help = DRILL_HELP)]
pub(crate) struct DrillArgs {
    /// How often Pilot is killed
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) kills: u32,

    /// Kill at the moments of an earlier drill [default: new ones]
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u32>,

    /// Print the report as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
