//! The daemon as its user runs it: a real forge on loopback, real git, a scripted agent, and Pilot's own binary.

mod budget;
mod drill;
mod faults;
mod flips;
mod images;
mod kills;
mod many;
mod pair;
mod real;
mod reviews;
mod scene;
mod screens;
mod single;
mod story;
#[cfg(feature = "toy")]
mod toy;
mod trouble;
mod turns;
mod world;
