//! What a run is charged.

use std::time::Duration;

use super::price::Prices;
use super::usd::Usd;
use crate::stream::{RunUsage, Usage};
use crate::text::word_enum;

/// What a run, or all runs of a task, took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens, but for those that were read from a cache: these are the same ones again.
    pub tokens: u64,
    pub usd: Usd,
    pub time: Duration,
}

impl Spent {
    pub fn plus(&self, other: &Spent) -> Spent {
        Spent {
            tokens: self.tokens.saturating_add(other.tokens),
            usd: self.usd + other.usd,
            time: self.time.saturating_add(other.time),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    pub spent: Spent,
    pub basis: Basis,
}

word_enum! {
    /// Where an amount of money comes from, the surest first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Basis {
        Reported = "reported",
        /// Tokens at the model's price.
        Priced = "priced",
        /// Tokens at the highest price, since the model's is not known.
        Assumed = "assumed",
    }
}

/// What a run is charged for what it used so far. What the agent told is believed; what it did not is priced.
pub fn charge(used: &RunUsage, model: Option<&str>, prices: &Prices, time: Duration) -> Charge {
    let (told, untold) = match used.usage.cost_usd.and_then(Usd::from_dollars) {
        Some(told) => (told, used.live),
        None => (Usd::ZERO, used.usage),
    };
    let (priced, is_known) = prices.cost(model, &untold);
    let basis = match (untold.tokens(), is_known) {
        // Neither tokens nor a cost were reported: counted as nothing.
        (0, _) => Basis::Reported,
        (_, true) => Basis::Priced,
        (_, false) => Basis::Assumed,
    };
    let spent = Spent { tokens: counted(&used.usage), usd: told + priced, time };
    Charge { spent, basis }
}

fn counted(usage: &Usage) -> u64 {
    usage.tokens().saturating_sub(usage.cache_read_tokens)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Basis, Charge, Prices, Spent, Usd, charge};
    use crate::stream::{RunUsage, Usage};

    fn tokens(input: u64, output: u64, cache_read: u64, cost_usd: Option<f64>) -> Usage {
        Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: cache_read,
            cache_write_tokens: 0,
            cost_usd,
        }
    }

    fn charged(usage: Usage, live: Usage, model: &str) -> Charge {
        let used = RunUsage { usage, live, exact: live.tokens() == 0 };
        charge(&used, Some(model), &Prices::new(&[]), Duration::from_secs(60))
    }

    #[test]
    fn told_is_believed_and_untold_is_priced() {
        let none = Usage::default();
        let live = tokens(10_000, 1_000, 50_000, None);
        for (usage, live, model, micros, basis) in [
            (tokens(10_000, 1_000, 0, Some(0.5)), none, "sonnet", 500_000, Basis::Reported),
            (tokens(10_000, 1_000, 0, None), none, "sonnet", 45_000, Basis::Priced),
            (tokens(10_000, 1_000, 0, None), none, "llama", 270_000, Basis::Assumed),
            // What was settled was told; what runs is priced on top.
            (tokens(20_000, 2_000, 50_000, Some(0.5)), live, "sonnet", 560_000, Basis::Priced),
            (tokens(10_000, 1_000, 50_000, None), live, "sonnet", 60_000, Basis::Priced),
            (tokens(10_000, 1_000, 0, Some(f64::NAN)), none, "sonnet", 45_000, Basis::Priced),
            (none, none, "llama", 0, Basis::Reported),
        ] {
            let Charge { spent, basis: got } = charged(usage, live, model);
            assert_eq!((spent.usd, got), (Usd::from_micros(micros), basis), "{usage:?} {model}");
            assert_eq!(spent.tokens, usage.input_tokens + usage.output_tokens);
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for basis in Basis::ALL {
            assert_eq!(Basis::parse(basis.as_str()), Some(basis));
        }
        assert_eq!(Basis::parse("free"), None);
    }

    #[test]
    fn spending_adds_up() {
        let one = Spent { tokens: 1, usd: Usd::from_micros(2), time: Duration::from_secs(3) };
        assert_eq!(
            one.plus(&one),
            Spent { tokens: 2, usd: Usd::from_micros(4), time: Duration::from_secs(6) }
        );
    }
}
