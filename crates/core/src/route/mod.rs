//! How a task is run: how much work it is, and from that the model, the effort and the time.
//!
//! [`assess`] reads the ticket, [`route`] adds what is configured, labelled and asked for, and gives one [`Route`] for a run.
//! Every decision carries its reasons. Must never know: the forge a ticket comes from, the agent's program, what a run
//! costs.

mod assess;
mod classifier;
mod complexity;
mod decide;
mod epic;
mod label;
mod reason;
mod shape;
mod words;

pub use assess::{Assessment, TaskText, assess};
pub use classifier::{
    Classification, ClassifierError, classifier_key, classifier_prompt, read_classification,
};
pub use complexity::{CLAUDE_MODELS, Cells, Complexity};
pub use decide::{Overrides, Route, RouteRequest, asks_classifier, route};
pub use reason::{RouteReason, TicketPart, ValueSource};
pub use words::PhraseMeaning;
