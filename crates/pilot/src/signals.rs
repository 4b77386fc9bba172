//! `pilot signals`: the signals in an agent's text.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use pilot_core::signal::{Found, Scanner, Stripper};

use crate::cli::SignalsArgs;
use crate::stdout::Stdout;

/// Read at a time; what is printed is flushed as often, so that a live transcript shows up live.
const CHUNK: usize = 256 * 1024;

/// Reads the input and prints what the scanner finds.
pub(crate) fn run(args: &SignalsArgs) -> anyhow::Result<ExitCode> {
    let input = match open(args.file.as_deref()) {
        Ok(input) => input,
        Err(error) => {
            eprintln!("pilot: {error:#}\nName a file that can be read, or `-` for standard input.");
            return Ok(ExitCode::from(2));
        }
    };
    let mut stdout = Stdout::lock();
    match args.strip {
        false => print_signals(input, &mut stdout)?,
        true => print_stripped(input, &mut stdout)?,
    }
    stdout.flush()?;
    Ok(ExitCode::SUCCESS)
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

fn print_signals(mut input: impl Read, out: &mut impl Write) -> anyhow::Result<()> {
    let mut scanner = Scanner::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = input.read(&mut chunk).context("read the input")?;
        if read == 0 {
            break;
        }
        scanner.push(&chunk[..read]);
        print_found(&mut scanner, out)?;
    }
    scanner.finish();
    print_found(&mut scanner, out)
}

fn print_found(scanner: &mut Scanner, out: &mut impl Write) -> anyhow::Result<()> {
    let mut any = false;
    while let Some(found) = scanner.next_found() {
        match found {
            Found::Signal(signal) => serde_json::to_writer(&mut *out, &signal).map_err(io::Error::from)?,
            Found::Diagnostic(diagnostic) => {
                serde_json::to_writer(&mut *out, &diagnostic).map_err(io::Error::from)?
            }
            Found::Wrapper(_) => continue,
        }
        out.write_all(b"\n")?;
        any = true;
    }
    if any {
        out.flush()?;
    }
    Ok(())
}

fn print_stripped(mut input: impl Read, out: &mut impl Write) -> anyhow::Result<()> {
    let mut stripper = Stripper::new();
    let (mut chunk, mut text) = (vec![0; CHUNK], Vec::new());
    loop {
        let read = input.read(&mut chunk).context("read the input")?;
        if read == 0 {
            break;
        }
        stripper.push(&chunk[..read], &mut text);
        out.write_all(&text)?;
        text.clear();
    }
    stripper.finish(&mut text);
    out.write_all(&text)?;
    Ok(())
}
