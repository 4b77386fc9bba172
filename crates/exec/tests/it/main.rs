//! The package from outside.

mod gates;
mod git;
mod hostile;
mod orphans;
mod process;
mod reopen;
mod stop_gate;
mod workspace;
mod yard;
