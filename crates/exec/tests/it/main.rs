//! The package from outside.

mod confined;
mod git;
mod hostile;
mod orphans;
mod process;
mod reopen;
mod workspace;
mod yard;
