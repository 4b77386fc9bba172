//! `pilot init`: files to begin with.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::pipeline::{NAMES, write_pipeline};
use crate::stdout::Stdout;

/// What `pilot init` is asked to write.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// A pipeline to begin with
    #[arg(long, value_name = "NAME", required = true, default_missing_value = NAMES[0], num_args = 0..=1, value_parser = NAMES)]
    pub(crate) pipeline: String,
}

/// Writes the files into the current folder.
pub(crate) fn run(args: &InitArgs) -> anyhow::Result<ExitCode> {
    let written = write_pipeline(&args.pipeline, Path::new("."))?;
    let mut out = Stdout::lock();
    for file in written {
        writeln!(out, "wrote {}", file.strip_prefix(".").unwrap_or(&file).display())?;
    }
    writeln!(out, "next: pilot validate, pilot run --dry-run, pilot run")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
