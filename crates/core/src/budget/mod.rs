//! What runs cost, what they may cost, and what happens at the border.
//!
//! - [`Usd`] is money, [`Prices`] turn tokens into it where an agent does not tell, [`charge`] says what a run is charged.
//! - [`Watch`] judges a running task at every usage event: its own caps, and the limits of the day and the month.
//! - [`admit`] decides before a run starts, with what running ones have reserved.
//! - [`Window`] is the day and the month by the clock on the wall; whoever knows the time zone makes it.
//!
//! Must never know: where the ledger is, what time it is, which zone it is.

mod admit;
mod charge;
mod config;
mod period;
mod price;
mod usd;
mod watch;
mod words;

pub use admit::{Admission, Level, Limit, Standing, Warning, admit};
pub use charge::{Basis, Charge, Spent, charge};
pub use config::{Action, BudgetConfig, OnExceed, PerTask, reserve};
pub use period::{Period, Window};
pub use price::{Price, Prices};
pub use usd::Usd;
pub use watch::{Amount, Reached, Verdict, Watch, Which};
