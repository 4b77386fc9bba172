//! Why a run does not fit into the budget, and when it will.

use serde::{Deserialize, Serialize};

use super::admit::Limit;
use super::usd::Usd;
use super::words;
use crate::route::Complexity;
use crate::time::Timestamp;

/// A limit that leaves too little for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortage {
    pub limit: Limit,
    pub size: Complexity,
    /// What a run of this size reserves.
    pub reserve: Usd,
    /// Charged in the day or month.
    pub spent: Usd,
    /// Reserved by the runs under way.
    pub reserved: Usd,
    /// The limit itself.
    pub most: Usd,
    /// When the day or month is over.
    pub until: Timestamp,
    /// Whether the run had begun and was stopped at the limit.
    #[serde(default)]
    pub has_begun: bool,
}

impl Shortage {
    /// What is left for new runs.
    pub fn left(&self) -> Usd {
        self.most.less(self.spent + self.reserved)
    }

    /// Whether such a run never fits, not even into an unused day or month.
    pub fn is_for_good(&self) -> bool {
        !self.has_begun && self.reserve > self.most
    }

    /// When it fits by itself; never where the limit is too small for it.
    pub fn fits_at(&self) -> Option<Timestamp> {
        (!self.is_for_good()).then_some(self.until)
    }

    /// Why, until when, and what a person can do, in a sentence or two.
    pub fn words(&self) -> String {
        words::shortage(self)
    }
}

#[cfg(test)]
mod tests {
    use super::{Limit, Shortage, Usd};
    use crate::route::Complexity;
    use crate::time::Timestamp;

    fn shortage(limit: Limit, spent: f64, reserved: f64, most: f64) -> Shortage {
        let usd = |dollars| Usd::from_dollars(dollars).unwrap();
        Shortage {
            limit,
            size: Complexity::Medium,
            reserve: usd(0.75),
            spent: usd(spent),
            reserved: usd(reserved),
            most: usd(most),
            until: Timestamp(7),
            has_begun: false,
        }
    }

    #[test]
    fn each_sentence_says_why_until_when_and_what_to_raise() {
        let begun = Shortage { has_begun: true, ..shortage(Limit::Daily, 3.5, 1.0, 4.0) };
        for (shortage, expect, fits_at) in [
            (
                shortage(Limit::Daily, 50.0, 0.0, 50.0),
                "Not started: today's budget ($50) is used up. It starts tomorrow at 00:00, or raise \
                 `budget.daily_limit`.",
                Some(Timestamp(7)),
            ),
            (
                shortage(Limit::Monthly, 512.3, 0.0, 500.0),
                "Not started: this month's budget ($500) is used up. It starts on the first of next month at 00:00, or \
                 raise `budget.monthly_limit`.",
                Some(Timestamp(7)),
            ),
            (
                shortage(Limit::Daily, 49.5, 0.0, 50.0),
                "Not started: a task like this reserves $0.75; only $0.50 is left today. It starts tomorrow at 00:00, \
                 or raise `budget.daily_limit`.",
                Some(Timestamp(7)),
            ),
            (
                shortage(Limit::Daily, 47.0, 3.0, 50.0),
                "Not started: a task like this reserves $0.75; only $0.00 is left today besides $3 for running tasks. \
                 It starts when they leave enough, at the latest tomorrow at 00:00, or raise `budget.daily_limit`.",
                Some(Timestamp(7)),
            ),
            (
                shortage(Limit::Daily, 0.0, 0.0, 0.5),
                "Not started: a task like this reserves $0.75; only $0.50 is left today, and tomorrow at 00:00 there is \
                 no more than that. Raise `budget.daily_limit` to $0.75 or more.",
                None,
            ),
            (
                begun,
                "Stopped: today's budget ($4) is used up. It continues tomorrow at 00:00, or raise \
                 `budget.daily_limit`.",
                Some(Timestamp(7)),
            ),
        ] {
            assert_eq!((shortage.words().as_str(), shortage.fits_at()), (expect, fits_at));
        }
    }
}
