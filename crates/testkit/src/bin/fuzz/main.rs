//! Fuzzing without another toolchain: mutates kept inputs, makes new ones, and judges each by the laws of `testkit::fuzz`.
//!
//! The same seed gives the same runs. A law that breaks gives the smallest input that still breaks it, in a file.

mod args;
mod minimise;
mod mutate;

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use pilot_testkit::fuzz::Target;

use args::Args;
use pilot_testkit::random::Random;

/// A progress line comes this many times.
const TOLD: u64 = 10;

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(wrong) => {
            eprintln!("fuzz: {wrong}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    fuzz(&args).unwrap_or_else(|error| {
        eprintln!("fuzz: {error}");
        ExitCode::FAILURE
    })
}

fn fuzz(args: &Args) -> io::Result<ExitCode> {
    let name = args.target.as_str();
    if let Some(input) = &args.input {
        let input = fs::read(input)?;
        println!("b\"{}\"", args.target.message(&input).escape_ascii());
        args.target.run(&input);
        println!("fuzz {name}: 1 run, no law broken");
        return Ok(ExitCode::SUCCESS);
    }
    let kept = kept(args.corpus.as_deref())?;
    let mut random = Random::new(args.seed);
    for run in 0..args.runs {
        // Each kept input as it is, first.
        let input = match kept.get(run as usize) {
            Some(input) => input.clone(),
            None => mutate::input(&kept, &mut random),
        };
        if breaks(args.target, &input) {
            return report(args, run, &input);
        }
        if (run + 1) % (args.runs / TOLD).max(1) == 0 {
            eprintln!("fuzz {name}: {} of {} runs", run + 1, args.runs);
        }
    }
    println!("fuzz {name}: {} runs, no law broken", args.runs);
    Ok(ExitCode::SUCCESS)
}

/// The kept inputs in the order of their names.
fn kept(folder: Option<&Path>) -> io::Result<Vec<Vec<u8>>> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    files.into_iter().filter(|file| file.is_file()).map(fs::read).collect()
}

/// Whether a law breaks. The panic says which, and is not told here.
fn breaks(target: Target, input: &[u8]) -> bool {
    let told = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let broken = panic::catch_unwind(AssertUnwindSafe(|| target.run(input))).is_err();
    panic::set_hook(told);
    broken
}

/// Keeps the smallest input that breaks the law, and lets the law say what is wrong.
fn report(args: &Args, run: u64, input: &[u8]) -> io::Result<ExitCode> {
    let name = args.target.as_str();
    eprintln!("fuzz {name}: run {run} of seed {} breaks a law; making it small", args.seed);
    // Tokens can be cut no further than tokens; their message can.
    let message = args.target.message(input);
    let raw: Vec<u8> = [b"r", message.as_slice()].concat();
    let smallest = minimise::smallest(&raw, |input| breaks(args.target, input));
    fs::create_dir_all(&args.failures)?;
    let file = args.failures.join(format!("{name}-{}-{run}", args.seed));
    fs::write(&file, &smallest)?;
    let _ = panic::catch_unwind(AssertUnwindSafe(|| args.target.run(&smallest)));
    eprintln!("\nfuzz {name}: a law is broken by {} bytes, kept in {}", smallest.len(), file.display());
    eprintln!("the message: b\"{}\"", args.target.message(&smallest).escape_ascii());
    eprintln!("again: fuzz --target {name} --input {}", file.display());
    Ok(ExitCode::FAILURE)
}
