//! The package from outside.

mod process;
