//! Contenders that take turns over the same bytes, and the table of how they did.
//!
//! The bytes are cut into pieces, each piece is timed alone, and of each the best time counts: a turn over all of them is
//! long enough to be interrupted by whatever else the machine does, a piece mostly is not.

use std::hint::black_box;
use std::time::{Duration, Instant};

pub(crate) struct Race {
    over: &'static str,
    bytes: usize,
    pieces: usize,
    contenders: Vec<Contender>,
}

pub(crate) struct Contender {
    name: &'static str,
    role: Role,
    work: Work,
    /// What all pieces together are to give.
    expect: usize,
    best: Vec<Duration>,
}

/// Does something with the piece of this index, and returns how much it found.
type Work = Box<dyn FnMut(usize) -> usize>;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// No scanner that reads every byte is faster.
    Limit,
    Ours,
    /// What ours is compared with.
    Comparison,
    Other,
}

impl Contender {
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    fn take_turn(&mut self) {
        let mut found = 0;
        for (piece, best) in self.best.iter_mut().enumerate() {
            let start = Instant::now();
            found += black_box((self.work)(piece));
            *best = start.elapsed().min(*best);
        }
        assert_eq!(found, self.expect, "{}", self.name);
    }
}

impl Race {
    pub(crate) fn new(over: &'static str, bytes: usize, pieces: usize) -> Race {
        Race { over, bytes, pieces, contenders: Vec::new() }
    }

    pub(crate) fn enter(
        mut self,
        role: Role,
        name: &'static str,
        expect: usize,
        work: impl FnMut(usize) -> usize + 'static,
    ) -> Race {
        let best = vec![Duration::MAX; self.pieces];
        self.contenders.push(Contender { name, role, work: Box::new(work), expect, best });
        self
    }

    /// Runs every scanner this many times and prints a row for each.
    pub(crate) fn run(mut self, turns: usize) {
        for _ in 0..turns {
            self.contenders.iter_mut().for_each(Contender::take_turn);
        }
        for contender in &self.contenders {
            let name = match contender.role {
                Role::Ours => format!("**{}**", contender.name),
                Role::Limit | Role::Comparison | Role::Other => contender.name.to_owned(),
            };
            let speed = self.speed(contender);
            println!(
                "| {} | {name} | {speed:.0} | {:.3} | {:.2} |",
                self.over,
                speed / self.speed_of(Role::Limit),
                speed / self.speed_of(Role::Comparison),
            );
        }
    }

    fn speed_of(&self, role: Role) -> f64 {
        let contender = self.contenders.iter().find(|contender| contender.role == role);
        self.speed(contender.expect("every race has one"))
    }

    /// Megabytes in a second.
    fn speed(&self, contender: &Contender) -> f64 {
        self.bytes as f64 / 1e6 / contender.best.iter().sum::<Duration>().as_secs_f64()
    }
}

pub(crate) fn print_head() {
    println!("| over | what | MB/s | to memchr | to the comparison |");
    println!("|---|---|--:|--:|--:|");
}

/// What the processor calls itself.
pub(crate) fn processor() -> String {
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = told.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.to_owned())
}
