//! The local forge: a small server on loopback with real git and GitHub's REST API.
//!
//! Must never know: the rest of Pilot.
//!
//! Its root holds bare git repositories and one SQLite file. [`Forge::start`] runs a forge in this process; everything else
//! goes through HTTP: GitHub's REST paths, git, and web pages.
//!
//! | room | holds |
//! |---|---|
//! | `forge`, `options`, `context` | start and stop; options; the shared state |
//! | `server` | connections, requests, routes, replies, paging, rate limits, the request log |
//! | `api` | the routes, one file for each resource; `forge_admin` has those that GitHub lacks (`/_forge/…`) |
//! | `wire` | GitHub's JSON from rows |
//! | `store` | the database, one module of SQL for each noun; `schema.sql` |
//! | `git` | git processes, objects, refs, merges, `http-backend` |
//! | `reconcile`, `recovery` | effects of moved refs; cleanup after a crash |
//! | `ci` | runs of `.pilot/ci.sh`: queue, process, log, result |
//! | `webhook` | events, and the queue and worker of their deliveries |
//! | `pages` | the web pages |
//! | `faults` | fault injection: the plan and the faults |
//! | `closing`, `name`, `timestamp`, `clock`, `user_cache`, `identity`, `process`, `tasks` | one noun each |

mod api;
mod ci;
mod clock;
mod closing;
mod context;
mod faults;
mod forge;
mod git;
mod identity;
mod name;
mod options;
mod pages;
mod process;
mod reconcile;
mod recovery;
mod server;
mod store;
mod tasks;
mod timestamp;
mod user_cache;
mod webhook;
mod wire;

pub use faults::{Plan, PlanError};
pub use forge::{Forge, ForgeError};
pub use options::{CiOptions, Lags, Options};
pub use store::StoreError;
