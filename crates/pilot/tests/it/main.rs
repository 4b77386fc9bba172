//! The tests of the whole: the program as its user runs it, and the borders of the code base.

mod agents;
mod cli;
mod config;
mod crash;
mod hostile;
mod orders;
mod pipeline;
mod program;
mod refusals;
mod rig;
mod samples;
mod tidy;
mod yard;
