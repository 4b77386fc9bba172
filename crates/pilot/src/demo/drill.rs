//! `pilot drill`: Pilot is killed again and again while it works, and in the end everything is done, once.
//!
//! The world is the demo's. Pilot runs in it as a process of its own, the way a user runs it.

mod inspect;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use pilot_exec::worker::{Worker, WorkerOutput};
use pilot_link::http::Pace;
use serde_json::json;

use self::inspect::{DrillCheck, alive, inspect};
use super::world::{Folder, ISSUES, World};
use super::{PATIENCE, with_forge};
use crate::agent::interrupts::Interrupts;
use crate::clock::Stopwatch;
use crate::commands::demo::DrillArgs;
use crate::config::Environment;
use crate::daemon::setup::WallPace;
use crate::printable;
use crate::stdout::Stdout;

/// About how long Pilot needs for the demo's issues; the kills are spread over it.
const SPAN: Duration = Duration::from_secs(8);

/// The shortest time in which a kill can hit anything.
const SHORTEST: Duration = Duration::from_millis(300);

/// How long an agent may outlive Pilot.
const GRACE: Duration = Duration::from_secs(1);

const LINES: usize = 20;

struct Kill {
    after: Duration,
    /// Who was alive a second later.
    survivors: Vec<String>,
}

enum Went {
    Killed(Kill),
    /// It had nothing left to do; the last lines it logged.
    Finished(Vec<String>),
    Interrupted,
}

pub(crate) fn run(args: &DrillArgs, environment: &Environment) -> anyhow::Result<ExitCode> {
    let folder = Folder::new(environment)?;
    with_forge(&folder, environment, |environment, world, _| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(drill(args, environment, &folder.path, &world))
    })
}

async fn drill(
    args: &DrillArgs,
    environment: &Environment,
    folder: &Path,
    world: &World,
) -> anyhow::Result<ExitCode> {
    world.make_project().await?;
    let checkout = world.check_out(folder, environment)?;
    let config = world.configure(folder, &checkout, None)?;
    let mut issues = Vec::new();
    for issue in &ISSUES {
        issues.push(world.file(issue).await?);
    }
    let program = std::env::current_exe().context("find this program")?;
    let subject = KilledPilot { program, config, folder, variables: environment.all() };
    let seed = args.seed.unwrap_or(WallPace.random() as u32);
    let mut kills = Vec::new();
    let mut went = Went::Finished(Vec::new());
    for number in 0..args.kills {
        went = subject.run(Some(moment(seed, number, args.kills))).await?;
        let Went::Killed(kill) = went else { break };
        if !args.json {
            eprintln!("  killed after {}; started again", seconds(kill.after));
        }
        kills.push(kill);
        went = Went::Finished(Vec::new());
    }
    // The last start is left alone; one that found nothing left to do has nothing to do now either.
    if let Went::Finished(_) = went {
        went = subject.run(None).await?;
    }
    let Went::Finished(said) = went else { return Ok(ExitCode::from(130)) };
    let mut checks = inspect(world, folder, &issues).await?;
    checks.push(DrillCheck::no_survivors(&kills.iter().flat_map(|kill| &kill.survivors).collect::<Vec<_>>()));
    report(args, seed, &kills, &checks)?;
    if checks.iter().all(|check| check.ok) {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("The last start logged:\n{}", said.join("\n"));
    Ok(ExitCode::FAILURE)
}

struct KilledPilot<'s> {
    program: PathBuf,
    config: PathBuf,
    folder: &'s Path,
    variables: &'s BTreeMap<OsString, OsString>,
}

impl KilledPilot<'_> {
    /// Starts it, and kills it after a while, if it is still there.
    async fn run(&self, after: Option<Duration>) -> anyhow::Result<Went> {
        let config = self.config.to_str().context("the folder's name is not UTF-8: set TMPDIR")?;
        let args = ["start", "--once", "--config", config];
        let mut pilot =
            Worker::start(&self.program, &args, self.variables, b"").await.context("start Pilot")?;
        let mut interrupts = Interrupts::listen()?;
        let watch = Stopwatch::start();
        let mut said = Vec::new();
        loop {
            let left = after.unwrap_or(PATIENCE).saturating_sub(watch.elapsed());
            tokio::select! {
                output = pilot.next_output() => match output? {
                    WorkerOutput::Line(line) | WorkerOutput::Complaint(line) => {
                        said.push(printable::line(&line, 200));
                        said.drain(..said.len().saturating_sub(LINES));
                    }
                    WorkerOutput::Ended(Some(0)) => return Ok(Went::Finished(said)),
                    WorkerOutput::Ended(code) => {
                        let code = code.map_or("by a signal".to_owned(), |code| format!("with code {code}"));
                        anyhow::bail!("Pilot ended {code}, and was not killed:\n{}", said.join("\n"));
                    }
                },
                () = tokio::time::sleep(left) => {
                    pilot.kill().await.context("kill Pilot")?;
                    if after.is_none() {
                        anyhow::bail!("Pilot did not come to an end:\n{}", said.join("\n"));
                    }
                    let survivors = self.survivors().await;
                    return Ok(Went::Killed(Kill { after: watch.elapsed(), survivors }));
                }
                () = interrupts.wait() => {
                    pilot.kill().await.context("kill Pilot")?;
                    return Ok(Went::Interrupted);
                }
            }
        }
    }

    async fn survivors(&self) -> Vec<String> {
        let watch = Stopwatch::start();
        loop {
            let alive = alive(self.folder);
            if alive.is_empty() || watch.elapsed() >= GRACE {
                return alive;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// When the next kill comes, after a start.
fn moment(seed: u32, number: u32, kills: u32) -> Duration {
    let span = (SPAN / kills.max(1)).max(SHORTEST);
    let mut mixed = (u64::from(seed) << 32 | u64::from(number)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    Duration::from_millis(mixed % (2 * span.as_millis() as u64))
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

fn report(args: &DrillArgs, seed: u32, kills: &[Kill], checks: &[DrillCheck]) -> anyhow::Result<()> {
    let mut out = Stdout::lock();
    if args.json {
        let killed: Vec<_> = kills
            .iter()
            .map(|kill| json!({"after_ms": kill.after.as_millis() as u64, "survivors": kill.survivors}))
            .collect();
        let listed: Vec<_> = checks
            .iter()
            .map(|check| json!({"check": check.what, "ok": check.ok, "found": check.found}))
            .collect();
        let ok = checks.iter().all(|check| check.ok);
        writeln!(out, "{}", json!({"seed": seed, "kills": killed, "checks": listed, "ok": ok}))?;
    } else {
        let times: Vec<String> = kills.iter().map(|kill| seconds(kill.after)).collect();
        writeln!(out, "\nKilled {} times (--seed {seed}): {}", kills.len(), times.join(", "))?;
        if kills.len() < args.kills as usize {
            writeln!(out, "Everything was done before the other {}.", args.kills as usize - kills.len())?;
        }
        for check in checks {
            let mark = if check.ok { "ok  " } else { "FAIL" };
            writeln!(out, "  {mark} {}: {}", check.what, printable::line(&check.found, 200))?;
        }
    }
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{SHORTEST, SPAN, moment};

    #[test]
    fn the_same_seed_kills_at_the_same_moments() {
        let moments = |seed| (0..5).map(|number| moment(seed, number, 5)).collect::<Vec<_>>();
        assert_eq!(moments(7), moments(7));
        assert_ne!(moments(7), moments(8));
        assert!(moments(7).iter().all(|moment| *moment < 2 * SPAN / 5));
        assert!(moment(1, 900, 1000) < 2 * SHORTEST);
    }
}
