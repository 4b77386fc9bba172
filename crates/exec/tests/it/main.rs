//! The package from outside.

mod git;
mod hostile;
mod orphans;
mod workspace;
mod yard;
