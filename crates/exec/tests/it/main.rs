//! The package from outside.

mod confined;
mod gates;
mod git;
mod hostile;
mod process;
mod push;
mod reopen;
mod stale;
mod stop_gate;
mod user_repo;
mod workspace;
