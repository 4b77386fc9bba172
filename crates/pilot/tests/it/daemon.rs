//! The daemon as its user runs it: a real forge on loopback, real git, a scripted agent, and Pilot's own binary.

mod answers;
mod budget;
mod demo;
mod drill;
mod evidence;
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
mod toy;
mod trouble;
mod turns;
mod world;
