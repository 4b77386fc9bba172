//! Runs the simulator over many seeds, or over the mutants, and prints which laws were broken.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use pilot_testkit::simulator::{Mutant, Options, Outcome, Totals, simulate, simulate_single, single_faults};

const USAGE: &str = "\
usage: simulate [--seeds N] [--from N] [--jobs N]
       simulate --mutants [--seeds N] [--from N]
       simulate --seed N [--mutant NAME]
       simulate --grid

  --seeds N      how many seeds (10000; 500 for each mutant)
  --from N       the first of them (1)
  --jobs N       how many at a time (1)
  --mutants      break one rule at a time; the laws must notice
  --seed N       one seed, with its whole trace
  --mutant NAME  with this rule broken
  --grid         every fault of every kind of request, one at a time, where nothing else fails";

/// How many progress lines there are.
const PROGRESS_LINES: u64 = 10;

/// After so many broken seeds the rest is skipped.
const MOST_BROKEN: u64 = 10;

/// Mutants that may go unnoticed.
const MAY_LIVE: usize = 2;

#[derive(Debug, Default)]
struct Args {
    seeds: Option<u64>,
    from: Option<u64>,
    jobs: Option<u64>,
    seed: Option<u64>,
    mutant: Option<Mutant>,
    mutants: bool,
    grid: bool,
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(wrong) => {
            eprintln!("simulate: {wrong}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if args.grid {
        return run_grid();
    }
    let from = args.from.unwrap_or(1);
    match (args.seed, args.mutants) {
        (Some(seed), _) => run_seed(seed, args.mutant),
        (None, true) => run_mutants(from, args.seeds.unwrap_or(500)),
        (None, false) => {
            let seeds = args.seeds.unwrap_or(10_000);
            run_seeds(&Seeds { from, seeds, mutant: args.mutant }, args.jobs.unwrap_or(1))
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args::default();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--mutants" => {
                args.mutants = true;
                continue;
            }
            "--grid" => {
                args.grid = true;
                continue;
            }
            _ => {}
        }
        let value = words.next().ok_or_else(|| format!("{word} has no value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{word}: no number: {value}"));
        match word.as_str() {
            "--seeds" => args.seeds = Some(number()?),
            "--from" => args.from = Some(number()?),
            "--jobs" => args.jobs = Some(number()?.clamp(1, 64)),
            "--seed" => args.seed = Some(number()?),
            "--mutant" => {
                args.mutant = Some(Mutant::parse(&value).ok_or_else(|| format!("{value} is no mutant"))?);
            }
            _ => return Err(format!("{word} is no option")),
        }
    }
    Ok(args)
}

/// Runs one seed and prints its trace.
fn run_seed(seed: u64, mutant: Option<Mutant>) -> ExitCode {
    let outcome = simulate(seed, Options { mutant, keep_trace: true });
    for line in &outcome.lines {
        println!("{line}");
    }
    println!("{:?}, trace {:016x}, {} events", outcome.totals, outcome.hash, outcome.events);
    print_outcome(&outcome)
}

fn print_outcome(outcome: &Outcome) -> ExitCode {
    match &outcome.violation {
        None => ExitCode::SUCCESS,
        Some(broken) => {
            eprintln!(
                "seed {} breaks \"{}\" after {} s: {}",
                outcome.seed, broken.law, broken.at, broken.how
            );
            ExitCode::FAILURE
        }
    }
}

struct Seeds {
    from: u64,
    seeds: u64,
    mutant: Option<Mutant>,
}

#[derive(Default)]
struct Sum {
    totals: Totals,
    events: u64,
    broken: u64,
}

impl Sum {
    fn add(&mut self, totals: Totals, events: u64, broken: u64) {
        self.totals.runs += totals.runs;
        self.totals.merges += totals.merges;
        self.totals.fixes += totals.fixes;
        self.totals.crashes += totals.crashes;
        self.totals.faults += totals.faults;
        self.totals.tags += totals.tags;
        self.events += events;
        self.broken += broken;
    }
}

fn run_seeds(seeds: &Seeds, jobs: u64) -> ExitCode {
    let (next, broken) = (AtomicU64::new(seeds.from), AtomicU64::new(0));
    let mut sum = Sum::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..jobs).map(|_| scope.spawn(|| run_next_seeds(seeds, &next, &broken))).collect();
        for worker in workers {
            match worker.join() {
                Ok(part) => sum.add(part.totals, part.events, part.broken),
                Err(_) => sum.broken += 1,
            }
        }
    });
    let Sum { totals, events, broken } = sum;
    println!(
        "simulate: {} seeds, {events} events, {} runs, {} merges, {} fixes, {} tags, {} crashes, {} faults, \
         {broken} broken",
        seeds.seeds, totals.runs, totals.merges, totals.fixes, totals.tags, totals.crashes, totals.faults
    );
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_next_seeds(seeds: &Seeds, next: &AtomicU64, broken: &AtomicU64) -> Sum {
    let mut sum = Sum::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        let done = seed - seeds.from;
        if done >= seeds.seeds || broken.load(Ordering::Relaxed) >= MOST_BROKEN {
            return sum;
        }
        let outcome = simulate(seed, Options { mutant: seeds.mutant, keep_trace: false });
        let breaks = u64::from(print_outcome(&outcome) == ExitCode::FAILURE);
        broken.fetch_add(breaks, Ordering::Relaxed);
        sum.add(outcome.totals, outcome.events, breaks);
        if (done + 1).is_multiple_of((seeds.seeds / PROGRESS_LINES).max(1)) {
            eprintln!("simulate: {} of {} seeds", done + 1, seeds.seeds);
        }
    }
}

/// Runs each mutant until a law notices it.
fn run_mutants(from: u64, seeds: u64) -> ExitCode {
    let mut alive = Vec::new();
    for mutant in Mutant::ALL {
        let options = Options { mutant: Some(mutant), keep_trace: false };
        let caught = (from..from + seeds)
            .find_map(|seed| simulate(seed, options).violation.map(|broken| (seed, broken)));
        match caught {
            Some((seed, broken)) => {
                println!("{mutant:?}: caught after {} seeds by \"{}\"", seed - from + 1, broken.law);
            }
            None => {
                println!("{mutant:?}: not caught in {seeds} seeds");
                alive.push(mutant);
            }
        }
    }
    println!("simulate: {} of {} mutants caught", Mutant::ALL.len() - alive.len(), Mutant::ALL.len());
    if alive.len() <= MAY_LIVE { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tries every fault of every kind of request; the first that changes the result is printed with its trace.
fn run_grid() -> ExitCode {
    let faults = single_faults();
    for fault in &faults {
        if simulate_single(Some(*fault), Options::default()).violation.is_some() {
            let outcome = simulate_single(Some(*fault), Options { mutant: None, keep_trace: true });
            for line in &outcome.lines {
                println!("{line}");
            }
            eprintln!("{fault:?}");
            return print_outcome(&outcome);
        }
    }
    println!("simulate: {} faults, each alone, changed nothing", faults.len());
    ExitCode::SUCCESS
}
