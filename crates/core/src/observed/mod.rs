//! What was read on a tracker or a forge, in our own words. Must never know a wire format: everything here is parsed and bounded.

mod failure;
mod pr;
mod review;
mod ticket;

pub use failure::{Failure, FailureKind};
pub use pr::{Mergeable, Pr, PrState};
pub use review::{PrReview, ReviewDecision, requests_for_changes};
pub use ticket::{Author, AuthorKind, Body, DependencyState, Ticket, TicketState, TouchedPaths, Trust};
