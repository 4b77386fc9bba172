//! The tests of the test kit, in one binary.

mod faults;
mod github;
mod laws;
mod simulator;
mod world;
