//! Running one agent: what `task`, `pipeline` and `daemon` share. Must never know which of them asks.

pub(crate) mod call;
pub(crate) mod evidence;
pub(crate) mod interrupts;
pub(crate) mod recover;
pub(crate) mod run;
pub(crate) mod worker;
