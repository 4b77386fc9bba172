//! The package from outside.

mod confined;
mod gates;
mod git;
mod hostile;
mod orphans;
mod process;
mod push;
mod reopen;
mod stop_gate;
mod workspace;
mod yard;
