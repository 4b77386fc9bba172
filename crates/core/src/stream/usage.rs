//! What a run used: tokens and money.
//!
//! Agents count in different ways: per call, per step, per process, per session with earlier processes included. Decoders
//! turn all of that into what *this run* added ([`UsageScope::Settled`]); the [`UsageMeter`] sums it. Unknown is not zero: a cost
//! that was not reported is `None`.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::event::AgentEvent;

/// Tokens and money. The four token counts are disjoint: their sum is what passed through the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read afresh, neither from nor into a cache.
    pub input_tokens: u64,
    /// Tokens written by the model, thinking included.
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// What it cost, when the agent reports it.
    pub cost_usd: Option<f64>,
}

impl Usage {
    pub(super) const FREE: Usage = Usage {
        input_tokens: 0,
        output_tokens: 0,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        cost_usd: Some(0.0),
    };

    pub fn tokens(&self) -> u64 {
        self.counts().iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    fn counts(&self) -> [u64; 4] {
        [self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens]
    }

    fn map(&self, other: &Usage, count: fn(u64, u64) -> u64, cost: fn(f64, f64) -> f64) -> Usage {
        Usage {
            input_tokens: count(self.input_tokens, other.input_tokens),
            output_tokens: count(self.output_tokens, other.output_tokens),
            cache_read_tokens: count(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: count(self.cache_write_tokens, other.cache_write_tokens),
            cost_usd: self.cost_usd.zip(other.cost_usd).map(|(a, b)| cost(a, b)),
        }
    }

    /// Both together; the cost is known only when both are.
    pub fn plus(&self, other: &Usage) -> Usage {
        self.map(other, u64::saturating_add, |a, b| a + b)
    }

    /// What came on top of `earlier`. A total below an earlier one is a counter that was reset.
    fn since(&self, earlier: &Usage) -> Usage {
        let began_anew = self.counts().iter().zip(earlier.counts()).any(|(now, then)| *now < then);
        if began_anew {
            return *self;
        }
        self.map(earlier, |now, then| now - then, |now, then| (now - then).max(0.0))
    }

    fn max(&self, other: &Usage) -> Usage {
        self.map(other, u64::max, f64::max)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum UsageScope<'a> {
    /// One call to the model as far as it is known while it runs; said again, it replaces what was said of the same message.
    Live {
        /// The message the call answers with.
        message: Cow<'a, str>,
    },
    /// What a finished part of the run used, exactly; parts add up.
    Settled,
    /// The same, but not exact: the agent reported a session's total whose earlier value is unknown, or left something out.
    Estimate,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Before {
    Known(Usage),
    /// The session is resumed and its total was not stored.
    Unknown,
}

impl Before {
    /// What the run added, given the session's total now; `None` when the total before is not known. From here on it is.
    pub(super) fn advance(&mut self, total: Usage) -> Option<Usage> {
        match std::mem::replace(self, Before::Known(total)) {
            Before::Known(earlier) => Some(total.since(&earlier)),
            Before::Unknown => None,
        }
    }

    /// What the run added to the cost, when nothing but the session's cost is told; `counted` is what it used meanwhile.
    pub(super) fn advance_cost(&mut self, total: f64, counted: &Usage) -> Option<f64> {
        let Before::Known(earlier) = self else { return None };
        let added = earlier.cost_usd.map(|earlier| (total - earlier).max(0.0));
        *earlier = Usage { cost_usd: Some(total), ..earlier.plus(counted) };
        added
    }
}

/// How many running calls are told apart; older ones are final.
const LIVE_LIMIT: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct UsageMeter {
    settled: Option<Usage>,
    inexact: bool,
    live: VecDeque<(String, Usage)>,
    /// Calls that fell out of `live`.
    live_before: Usage,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunUsage {
    /// The numbers; the cost is that of the settled part.
    pub usage: Usage,
    /// The part of them that is not settled, whose cost was not reported yet.
    pub live: Usage,
    /// Whether they are the agent's final word; a run that was cut off is only estimated.
    pub exact: bool,
}

impl RunUsage {
    /// The part whose cost the agent reports.
    pub fn settled(&self) -> Usage {
        self.usage.map(&self.live, u64::saturating_sub, |settled, _| settled)
    }
}

impl UsageMeter {
    /// Takes in one event; every other than [`AgentEvent::Usage`] changes nothing.
    pub fn observe(&mut self, event: &AgentEvent<'_>) {
        if let AgentEvent::Usage { scope, usage } = event {
            match scope {
                UsageScope::Live { message } => self.call(message, usage),
                UsageScope::Settled => self.settle(usage),
                UsageScope::Estimate => {
                    self.inexact = true;
                    self.settle(usage);
                }
            }
        }
    }

    /// The sum so far: what is settled, and what is known of the calls since.
    pub fn totals(&self) -> RunUsage {
        let live = self.live.iter().fold(self.live_before, |sum, (_, usage)| sum.plus(usage));
        let settled = self.settled.unwrap_or_default();
        let usage = Usage { cost_usd: settled.cost_usd, ..settled.plus(&live) };
        RunUsage { usage, live, exact: self.settled.is_some() && !self.inexact && live.tokens() == 0 }
    }

    fn settle(&mut self, usage: &Usage) {
        self.settled = Some(self.settled.map_or(*usage, |sum| sum.plus(usage)));
        self.live.clear();
        self.live_before = Usage::default();
    }

    fn call(&mut self, message: &str, usage: &Usage) {
        if let Some((_, known)) = self.live.iter_mut().rev().find(|(id, _)| id == message) {
            *known = known.max(usage);
            return;
        }
        if self.live.len() == LIVE_LIMIT
            && let Some((_, oldest)) = self.live.pop_front()
        {
            self.live_before = self.live_before.plus(&oldest);
        }
        self.live.push_back((message.to_owned(), *usage));
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentEvent, Before, Usage, UsageMeter, UsageScope};

    fn usage(input_tokens: u64, output_tokens: u64, cost_usd: Option<f64>) -> Usage {
        Usage { input_tokens, output_tokens, cost_usd, ..Usage::default() }
    }

    fn live(message: &str, input: u64, output: u64) -> AgentEvent<'_> {
        AgentEvent::Usage {
            scope: UsageScope::Live { message: message.into() },
            usage: usage(input, output, None),
        }
    }

    fn settled(input: u64, cost: Option<f64>) -> AgentEvent<'static> {
        AgentEvent::Usage { scope: UsageScope::Settled, usage: usage(input, 1, cost) }
    }

    fn measure(events: &[AgentEvent<'_>]) -> (u64, u64, Option<f64>, bool) {
        let mut meter = UsageMeter::default();
        events.iter().for_each(|event| meter.observe(event));
        let totals = meter.totals();
        (totals.usage.input_tokens, totals.usage.output_tokens, totals.usage.cost_usd, totals.exact)
    }

    #[test]
    fn live_calls_are_replaced_by_what_is_settled() {
        assert_eq!(measure(&[]), (0, 0, None, false));
        assert_eq!(measure(&[live("a", 10, 1), live("a", 10, 1), live("b", 5, 1)]), (15, 2, None, false));
        assert_eq!(measure(&[live("a", 10, 1), live("a", 10, 66)]), (10, 66, None, false));
        assert_eq!(measure(&[live("a", 10, 1), settled(11, Some(0.5))]), (11, 1, Some(0.5), true));
        assert_eq!(measure(&[settled(11, Some(0.5)), live("b", 4, 0)]), (15, 1, Some(0.5), false));
        assert_eq!(measure(&[settled(11, Some(0.5)), settled(4, Some(0.25))]), (15, 2, Some(0.75), true));
    }

    #[test]
    fn an_unknown_cost_is_not_zero_and_makes_the_sum_unknown() {
        assert_eq!(measure(&[settled(1, None)]), (1, 1, None, true));
        assert_eq!(measure(&[settled(1, Some(0.1)), settled(1, None)]), (2, 2, None, true));
        let estimate = AgentEvent::Usage { scope: UsageScope::Estimate, usage: usage(9, 1, None) };
        assert_eq!(measure(&[estimate, settled(1, None)]), (10, 2, None, false));
    }

    #[test]
    fn any_number_of_calls_is_summed_in_bounded_room() {
        let mut meter = UsageMeter::default();
        for call in 0..1000 {
            meter.observe(&live(&format!("m{call}"), 3, 1));
        }
        assert_eq!(meter.totals().usage.input_tokens, 3000);
        assert_eq!(meter.live.len(), super::LIVE_LIMIT);
    }

    #[test]
    fn totals_are_differenced_and_a_counter_may_begin_anew() {
        let mut before = Before::Known(usage(10, 1, Some(1.0)));
        assert_eq!(before.advance(usage(25, 3, Some(1.5))), Some(usage(15, 2, Some(0.5))));
        assert_eq!(before.advance(usage(25, 3, None)), Some(usage(0, 0, None)));
        assert_eq!(before.advance(usage(4, 1, Some(0.2))), Some(usage(4, 1, Some(0.2))));
        let mut before = Before::Unknown;
        assert_eq!(before.advance(usage(25, 3, None)), None);
        assert_eq!(before.advance(usage(26, 3, None)), Some(usage(1, 0, None)));
    }
}
