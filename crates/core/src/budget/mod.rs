//! What runs cost, what they may cost, and what happens at the border.
//!
//! - [`Usd`] is money, [`Prices`] turn tokens into it where an agent does not tell, [`charge`] says what a run is charged.
//! - [`CostWatch`] judges a running task at every usage event: its own caps, and the limits of the day and the month.
//! - [`admit`] decides before a run starts, with what running ones have reserved.
//! - [`Window`] is the day and the month in local time; the caller knows the time zone.
//!
//! Must never know: where the ledger is, what time it is, which zone it is.

mod admit;
mod charge;
mod config;
mod period;
mod price;
mod shortage;
mod usd;
mod watch;
mod words;

pub use admit::{BudgetAdmission, BudgetLevel, Limit, Standing, Warning, admit};
pub use charge::{Basis, Charge, Spent, charge};
pub use config::{BudgetAction, BudgetConfig, OnExceed, PerTask, reserve};
pub use period::{Period, Window};
pub use price::{Price, Prices};
pub use shortage::Shortage;
pub use usd::Usd;
pub use watch::{Amount, BudgetVerdict, CostWatch, Reached, Which};
pub use words::spending;
