//! Real programs under supervision: every ending is classified, and no process is left.

mod crash;
mod descendants;
mod endings;
pub(crate) mod rig;
mod volume;
mod world;
