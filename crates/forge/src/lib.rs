//! The local forge: a small real forge on loopback that speaks GitHub.
//!
//! Must never know: the rest of Pilot.
//!
//! Bare git repositories and one SQLite file below a root; GitHub's REST paths at the root of its URL, git over HTTP beside
//! them. [`Forge::start`] runs one inside this process; everything else goes through HTTP.
//!
//! | room | holds |
//! |---|---|
//! | `forge`, `options`, `site` | starting and stopping; how to run; what every room needs |
//! | `server` | connections, requests, routes, answers, pages, rate limits, the request log |
//! | `api` | the routes, a file for each resource; `own` is what GitHub does not have (`/_forge/…`) |
//! | `wire` | GitHub's JSON: rows in, objects out |
//! | `store` | the database, a file of SQL for each noun; `schema.sql` |
//! | `git` | git processes, objects, refs, merges, `http-backend` |
//! | `reconcile`, `recovery` | refs moved: everybody is told; what a killed forge left: finished at the next start |
//! | `ci` | runs of `.pilot/ci.sh`: queue, process, log, report |
//! | `webhook` | what is told to whom, written down with the fact, delivered afterwards |
//! | `pages` | what people see: HTML and forms that ask the API in their reader's name |
//! | `faults` | what goes wrong on purpose: the plan, and each fault |
//! | `closing`, `name`, `timestamp`, `clock`, `people`, `identity`, `process`, `tasks` | one noun each |

mod api;
mod ci;
mod clock;
mod closing;
mod faults;
mod forge;
mod git;
mod identity;
mod name;
mod options;
mod pages;
mod people;
mod process;
mod reconcile;
mod recovery;
mod server;
mod site;
mod store;
mod tasks;
mod timestamp;
mod webhook;
mod wire;

pub use faults::{Plan, PlanError};
pub use forge::{Forge, ForgeError};
pub use options::{CiOptions, Lags, Options};
pub use store::StoreError;
