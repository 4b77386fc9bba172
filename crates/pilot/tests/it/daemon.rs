//! The daemon as its user runs it: a real forge on loopback, real git, a scripted agent, and Pilot's own binary.

mod faults;
mod flips;
mod real;
mod story;
mod trouble;
mod world;
