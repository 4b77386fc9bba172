//! What a run is charged.

use std::time::Duration;

use super::price::Prices;
use super::usd::Usd;
use super::words;
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

/// A reported cost below this part of what its tokens cost, or above this multiple, is not believed: discounts and dearer
/// contexts are within it.
const CREDIBLE: u64 = 4;
const CREDIBLE_ABOVE: u64 = 20;

/// Up to here a cost is believed though its tokens explain less: those of sub-agents are not always reported.
const UNEXPLAINED: Usd = Usd::from_micros(5_000_000);

/// What a run is charged for what it used so far. What the agent reports is believed as far as its tokens bear it out; what
/// it does not is priced.
pub fn charge(used: &RunUsage, model: Option<&str>, prices: &Prices, time: Duration) -> Charge {
    let (told, untold) = match credible(used, model, prices).0 {
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

/// Why the cost that an agent reports is not believed, in words.
pub fn doubt(used: &RunUsage, model: Option<&str>, prices: &Prices) -> Option<String> {
    credible(used, model, prices).1
}

/// What counts of the reported cost, if anything does, and why not all of it.
fn credible(used: &RunUsage, model: Option<&str>, prices: &Prices) -> (Option<Usd>, Option<String>) {
    let Some(dollars) = used.usage.cost_usd else { return (None, None) };
    let settled = used.settled();
    let doubt = |told: &str| Some(words::not_believed(told, settled.tokens()));
    let Some(told) = Usd::from_dollars(dollars) else { return (None, doubt(&format!("${dollars}"))) };
    let (priced, is_known) = prices.cost(model, &settled);
    // Of a model without a price only the cheapest is certain.
    let least = if is_known { priced } else { prices.cheapest(&settled) };
    let most = Usd::from_micros(prices.dearest(&settled).max(priced).micros().saturating_mul(CREDIBLE_ABOVE));
    let is_low = u128::from(told.micros()) * u128::from(CREDIBLE) < u128::from(least.micros());
    match told > most.max(UNEXPLAINED) {
        // Nothing to price: it is bounded.
        true if settled.tokens() == 0 => (Some(UNEXPLAINED), doubt(&told.to_string())),
        true => (None, doubt(&told.to_string())),
        false if is_low => (None, doubt(&told.to_string())),
        false => (Some(told), None),
    }
}

fn counted(usage: &Usage) -> u64 {
    usage.tokens().saturating_sub(usage.cache_read_tokens)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Basis, Charge, Prices, Spent, Usd, charge, doubt};
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
            // No cost that its tokens do not bear out.
            (tokens(10_000, 1_000, 0, Some(1e9)), none, "sonnet", 45_000, Basis::Priced),
            (tokens(10_000, 1_000, 0, Some(0.0)), none, "sonnet", 45_000, Basis::Priced),
            (tokens(10_000, 1_000, 0, Some(-5.0)), none, "sonnet", 45_000, Basis::Priced),
            (tokens(10_000, 1_000, 0, Some(1e-7)), none, "sonnet", 45_000, Basis::Priced),
            (tokens(10_000, 1_000, 0, Some(1e9)), none, "llama", 270_000, Basis::Assumed),
            (tokens(10_000, 1_000, 0, Some(0.0)), none, "llama", 270_000, Basis::Assumed),
            (tokens(10_000, 1_000, 0, Some(0.02)), none, "sonnet", 20_000, Basis::Reported),
            (tokens(0, 0, 0, Some(0.0)), none, "sonnet", 0, Basis::Reported),
            (tokens(0, 0, 0, Some(0.5)), none, "sonnet", 500_000, Basis::Reported),
            (tokens(0, 0, 0, Some(1e9)), none, "sonnet", 5_000_000, Basis::Reported),
            (none, none, "llama", 0, Basis::Reported),
        ] {
            let Charge { spent, basis: got } = charged(usage, live, model);
            assert_eq!((spent.usd, got), (Usd::from_micros(micros), basis), "{usage:?} {model}");
            assert_eq!(spent.tokens, usage.input_tokens + usage.output_tokens);
        }
    }

    #[test]
    fn a_cost_that_is_not_believed_is_said() {
        let said = |cost| {
            let usage = tokens(10_000, 1_000, 0, Some(cost));
            let used = RunUsage { usage, live: Usage::default(), exact: true };
            doubt(&used, Some("sonnet"), &Prices::new(&[]))
        };
        let words = "the agent reports a cost of $0.00 for 11000 tokens, which is not believed";
        assert_eq!(said(0.0).as_deref(), Some(words));
        assert!(said(1e9).is_some_and(|words| words.contains("$1000000000.00")));
        assert!(said(-5.0).is_some_and(|words| words.contains("$-5")));
        assert_eq!(said(0.05), None);
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
