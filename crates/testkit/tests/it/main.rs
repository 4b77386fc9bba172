//! The tests of the test kit, in one binary.

mod laws;
