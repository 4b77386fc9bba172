//! The package from outside.
