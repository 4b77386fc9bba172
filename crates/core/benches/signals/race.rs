//! Contenders that take turns over the same bytes, and the table of how they did.

use std::hint::black_box;
use std::time::{Duration, Instant};

pub(crate) struct Race {
    over: &'static str,
    bytes: usize,
    contenders: Vec<Contender>,
}

pub(crate) struct Contender {
    name: &'static str,
    role: Role,
    /// What every turn is to return.
    expect: usize,
    turn: Box<dyn FnMut() -> usize>,
    best: Duration,
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// Nobody who looks at every byte is faster.
    Limit,
    Ours,
    /// What ours is compared with.
    Comparison,
    Other,
}

impl Contender {
    /// Counting the newlines.
    pub(crate) fn limit(expect: usize, turn: impl FnMut() -> usize + 'static) -> Contender {
        Contender::new("newlines counted by memchr", Role::Limit, expect, turn)
    }

    pub(crate) fn ours(
        name: &'static str,
        expect: usize,
        turn: impl FnMut() -> usize + 'static,
    ) -> Contender {
        Contender::new(name, Role::Ours, expect, turn)
    }

    pub(crate) fn comparison(
        name: &'static str,
        expect: usize,
        turn: impl FnMut() -> usize + 'static,
    ) -> Contender {
        Contender::new(name, Role::Comparison, expect, turn)
    }

    pub(crate) fn other(
        name: &'static str,
        expect: usize,
        turn: impl FnMut() -> usize + 'static,
    ) -> Contender {
        Contender::new(name, Role::Other, expect, turn)
    }

    fn new(
        name: &'static str,
        role: Role,
        expect: usize,
        turn: impl FnMut() -> usize + 'static,
    ) -> Contender {
        Contender { name, role, expect, turn: Box::new(turn), best: Duration::MAX }
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    fn take_turn(&mut self) {
        let start = Instant::now();
        let got = black_box((self.turn)());
        self.best = self.best.min(start.elapsed());
        assert_eq!(got, self.expect, "{}", self.name);
    }
}

impl Race {
    pub(crate) fn new(over: &'static str, bytes: usize) -> Race {
        Race { over, bytes, contenders: Vec::new() }
    }

    pub(crate) fn enter(mut self, contender: Contender) -> Race {
        self.contenders.push(contender);
        self
    }

    /// Lets everybody take this many turns and prints a row each.
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
        self.bytes as f64 / 1e6 / contender.best.as_secs_f64()
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
