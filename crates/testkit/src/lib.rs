//! The fake world for tests, and the laws that hold for any bytes.
//!
//! Only test code may depend on this package.

pub mod agent;
pub mod fuzz;
pub mod program;
pub mod random;
pub mod simulator;
