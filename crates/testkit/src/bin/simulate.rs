//! Runs the simulator over many seeds, or over the mutants, and says which laws broke.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use pilot_testkit::simulator::{Mutant, Options, Outcome, Story, cells, simulate, simulate_cell};

const USAGE: &str = "\
usage: simulate [--seeds N] [--from N] [--jobs N]
       simulate --mutants [--seeds N] [--from N]
       simulate --seed N [--mutant NAME]
       simulate --grid

  --seeds N      how many seeds (10000; 500 for each mutant)
  --from N       the first of them (1)
  --jobs N       so many at a time (1)
  --mutants      break one rule at a time, and see that the laws notice
  --seed N       one seed, with its whole trace
  --mutant NAME  with this rule broken
  --grid         every fault of every kind of request, one at a time, where all else goes well";

/// A progress line comes this many times.
const TOLD: u64 = 10;

/// After so many broken seeds the others are left.
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
        return grid();
    }
    let from = args.from.unwrap_or(1);
    match (args.seed, args.mutants) {
        (Some(seed), _) => one(seed, args.mutant),
        (None, true) => mutants(from, args.seeds.unwrap_or(500)),
        (None, false) => {
            let seeds = args.seeds.unwrap_or(10_000);
            many(&Seeds { from, seeds, mutant: args.mutant }, args.jobs.unwrap_or(1))
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

/// One seed with everything that happened.
fn one(seed: u64, mutant: Option<Mutant>) -> ExitCode {
    let outcome = simulate(seed, Options { mutant, keep_trace: true });
    for line in &outcome.lines {
        println!("{line}");
    }
    println!("{:?}, trace {:016x}, {} events", outcome.story, outcome.hash, outcome.events);
    told(&outcome)
}

fn told(outcome: &Outcome) -> ExitCode {
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

/// Seeds to be run.
struct Seeds {
    from: u64,
    seeds: u64,
    mutant: Option<Mutant>,
}

/// What came of them.
#[derive(Default)]
struct Sum {
    story: Story,
    events: u64,
    broken: u64,
}

impl Sum {
    fn add(&mut self, story: Story, events: u64, broken: u64) {
        self.story.runs += story.runs;
        self.story.merges += story.merges;
        self.story.fixes += story.fixes;
        self.story.crashes += story.crashes;
        self.story.faults += story.faults;
        self.story.tags += story.tags;
        self.events += events;
        self.broken += broken;
    }
}

fn many(seeds: &Seeds, jobs: u64) -> ExitCode {
    let (next, broken) = (AtomicU64::new(seeds.from), AtomicU64::new(0));
    let mut sum = Sum::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..jobs).map(|_| scope.spawn(|| one_after_the_other(seeds, &next, &broken))).collect();
        for worker in workers {
            match worker.join() {
                Ok(part) => sum.add(part.story, part.events, part.broken),
                Err(_) => sum.broken += 1,
            }
        }
    });
    let Sum { story, events, broken } = sum;
    println!(
        "simulate: {} seeds, {events} events, {} runs, {} merges, {} fixes, {} tags, {} crashes, {} faults, \
         {broken} broken",
        seeds.seeds, story.runs, story.merges, story.fixes, story.tags, story.crashes, story.faults
    );
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn one_after_the_other(seeds: &Seeds, next: &AtomicU64, broken: &AtomicU64) -> Sum {
    let mut sum = Sum::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        let done = seed - seeds.from;
        if done >= seeds.seeds || broken.load(Ordering::Relaxed) >= MOST_BROKEN {
            return sum;
        }
        let outcome = simulate(seed, Options { mutant: seeds.mutant, keep_trace: false });
        let breaks = u64::from(told(&outcome) == ExitCode::FAILURE);
        broken.fetch_add(breaks, Ordering::Relaxed);
        sum.add(outcome.story, outcome.events, breaks);
        if (done + 1).is_multiple_of((seeds.seeds / TOLD).max(1)) {
            eprintln!("simulate: {} of {} seeds", done + 1, seeds.seeds);
        }
    }
}

/// Each mutant until the laws notice.
fn mutants(from: u64, seeds: u64) -> ExitCode {
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

/// Every fault of every kind of request; the first that changes anything is shown whole.
fn grid() -> ExitCode {
    let cells = cells();
    for cell in &cells {
        if simulate_cell(Some(*cell), Options::default()).violation.is_some() {
            let outcome = simulate_cell(Some(*cell), Options { mutant: None, keep_trace: true });
            for line in &outcome.lines {
                println!("{line}");
            }
            eprintln!("{cell:?}");
            return told(&outcome);
        }
    }
    println!("simulate: {} faults, each alone, and nothing came of any", cells.len());
    ExitCode::SUCCESS
}
