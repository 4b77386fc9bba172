//! The program: command line and wiring. Decides nothing.

fn main() {}
