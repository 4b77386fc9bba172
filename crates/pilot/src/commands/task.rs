//! The command line of `pilot task`; [`crate::task`] carries it out.

use std::path::PathBuf;

use clap::Args;

const HELP: &str = "\
Examples:
  pilot task \"Add a --json flag to the list command\"
  pilot task --backend codex --base main \"Fix the flaky login test\"
  pilot task --image screenshot.png \"What is wrong with this page?\"
  pilot task --json \"Update the changelog\" | jq .commit_sha
  pilot task --pr \"Say in the README how to install it\"

The agent works in a worktree of its own and its work ends on a branch; the checkout is not changed.

Exit codes: 0 completed, 1 failed, nothing changed or not published, 2 wrong use, 3 blocked and waiting for a person, 130 cancelled.
";

#[derive(Debug, Default, Args)]
#[command(after_help = HELP)]
pub(crate) struct TaskArgs {
    /// The task; its first line is the title; `-` reads it from standard input
    #[arg(value_name = "TASK")]
    pub(crate) task: String,

    /// The repository [default: the current directory]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) project: Option<PathBuf>,

    /// The agent: claude-code, codex, opencode, gemini, qwen-code or command
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<String>,

    /// The model, in the agent's own spelling
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// How hard the model thinks: low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL")]
    pub(crate) effort: Option<String>,

    /// How much work it is, instead of what Pilot reads from the task: trivial, simple, medium, complex or epic
    #[arg(long, value_name = "LEVEL")]
    pub(crate) complexity: Option<String>,

    /// The longest the agent may take, as in 90s, 30m, 1h30m
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,

    /// The commit to start from [default: the checkout's HEAD]
    #[arg(long, value_name = "REF")]
    pub(crate) base: Option<String>,

    /// The branch to work on; one that exists is continued [default: pilot/TASK]
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,

    /// Ask a question about an image instead: answered read-only, without a branch
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "branch", "local"])]
    pub(crate) image: Option<PathBuf>,

    /// Skip the quality gates
    #[arg(long)]
    pub(crate) no_gates: bool,

    /// Skip the review of what passed
    #[arg(long)]
    pub(crate) no_review: bool,

    /// A local bench task: the bare task as prompt, without the executor's header
    #[arg(long)]
    pub(crate) local: bool,

    /// Push the branch of a completed run and open a pull request for it on GitHub
    #[arg(long, conflicts_with = "image")]
    pub(crate) pr: bool,

    /// Print what would be done, and do nothing
    #[arg(long, conflicts_with_all = ["json", "verbose"])]
    pub(crate) dry_run: bool,

    /// Show what the agent says and does
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Print the result as one JSON object, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}
