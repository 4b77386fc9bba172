//! The command lines of `pilot run`, `pilot steps` and `pilot validate`; [`crate::pipeline`] carries them out.

use std::path::PathBuf;

use clap::Args;

const RUN_HELP: &str = "\
Examples:
  pilot init --pipeline implement-and-review
  pilot run --input goal='Add a --json flag to the list command'
  pilot run --dry-run
  pilot run --from review
  pilot run --json | jq -c 'select(.event == \"step\")'

Reads .pilot/pipeline.yaml in the current folder and works in that checkout: no worktree, no branch is switched. A run that \
was interrupted, failed or waits for a person is continued; --fresh starts over.

Exit codes: 0 completed, 1 a step failed, 2 wrong use or a wrong file, 3 waits for a person, 130 interrupted.
";

#[derive(Debug, Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct RunArgs {
    /// Start a new run, even if there is one to continue
    #[arg(long, conflicts_with_all = ["from", "only"])]
    pub(crate) fresh: bool,

    /// Start a new run at this step, with what the last run emitted
    #[arg(long, value_name = "STEP", conflicts_with = "only")]
    pub(crate) from: Option<String>,

    /// Run this step and no other, with what the last run emitted
    #[arg(long, value_name = "STEP")]
    pub(crate) only: Option<String>,

    /// A value for one of the pipeline's inputs
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,

    /// Show the steps and the prompts they would get, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print what happens as JSON, an object a line
    #[arg(long)]
    pub(crate) json: bool,
}

const STEPS_HELP: &str = "\
Examples:
  pilot steps
  pilot steps --json | jq -r '.steps[].id'
";

#[derive(Debug, Args)]
#[command(after_help = STEPS_HELP)]
pub(crate) struct StepsArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const VALIDATE_HELP: &str = "\
Examples:
  pilot validate
  pilot validate --schema >pipeline.schema.json

Exit codes: 0 nothing wrong, 2 something is.
";

#[derive(Debug, Args)]
#[command(after_help = VALIDATE_HELP)]
pub(crate) struct ValidateArgs {
    /// The file to check instead of .pilot/pipeline.yaml
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Print the JSON Schema of the file, for editors
    #[arg(long, conflicts_with_all = ["file", "json"])]
    pub(crate) schema: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
