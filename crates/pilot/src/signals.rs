//! `pilot signals`: the signals in an agent's text.

use std::process::ExitCode;

use crate::cli::SignalsArgs;

/// Reads the input and prints what the scanner finds.
pub(crate) fn run(args: &SignalsArgs) -> anyhow::Result<ExitCode> {
    let SignalsArgs { input, agent, strip, file } = args;
    anyhow::bail!("read signals: no scanner yet (asked for {input:?}, {agent:?}, strip {strip}, {file:?})")
}
