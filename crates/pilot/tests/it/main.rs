//! The tests of the whole: the program as its user runs it, and the borders of the code base.

mod agents;
mod budget;
mod cli;
mod config;
mod crash;
mod daemon;
mod flips;
mod forge;
mod hostile;
mod init;
mod installer;
mod orders;
mod pipeline;
mod program;
mod refusals;
mod rig;
mod samples;
mod stop_gate;
mod tidy;
mod worth;
mod yard;
