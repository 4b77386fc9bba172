//! The fake world for tests.
//!
//! Only test code may depend on this package.

pub mod agent;
