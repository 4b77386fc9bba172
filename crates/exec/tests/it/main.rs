//! The package from outside.

mod git;
mod hostile;
mod orphans;
mod process;
mod workspace;
mod yard;
