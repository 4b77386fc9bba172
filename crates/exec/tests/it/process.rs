//! Real programs under supervision: every ending by its name, and nobody left.

mod crash;
mod endings;
mod kin;
pub(crate) mod rig;
mod volume;
mod world;
