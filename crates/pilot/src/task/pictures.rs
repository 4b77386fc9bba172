//! The images that an issue shows, fetched before its agent starts, into files of the run that no commit can take up. One that
//! cannot be had fails no task: it is said in the log, and to the agent.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pilot_core::intake::{Picture, PictureKind, Pictures, pictures};
use pilot_core::prompt::{Image, ImagePlace};
use pilot_link::github::{Repo, RepoName};
use pilot_link::http::Settings;
use pilot_store::{Level, LogLine};
use tokio::time::timeout;

use super::control::Control;
use super::interrupts::Interrupts;
use super::life::Life;
use super::view::View;
use crate::clock::{self, Stopwatch};
use crate::daemon::ground;

/// The largest image, and the most bytes of all of a task.
const LARGEST: usize = 10 << 20;
const LARGEST_ALL: usize = 30 << 20;

/// How long one may take, and all of them.
const PATIENCE: Duration = Duration::from_secs(20);
const PATIENCE_ALL: Duration = Duration::from_secs(60);

/// An image that the task shows: a file, or why there is none.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    picture: Picture,
    place: Result<PathBuf, String>,
}

impl Shown {
    /// As a prompt names it.
    pub(crate) fn image(&self) -> Image<'_> {
        let Picture { url, alt } = &self.picture;
        let place = match &self.place {
            Ok(path) => ImagePlace::File(path.to_str().unwrap_or_default()),
            Err(why) => ImagePlace::Missing { url, why },
        };
        Image { alt, place }
    }

    /// Its file.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.place.as_ref().ok()
    }
}

/// Fetches the images of the run's task; none when somebody ends the run meanwhile.
pub(crate) async fn fetch(
    life: &Life<'_>,
    control: &Control,
    interrupts: &mut Interrupts,
    view: &mut View,
) -> Option<Vec<Shown>> {
    let job = &life.plan.job;
    let Some(repo) = &job.issue_of else { return Some(Vec::new()) };
    let wanted = pictures(&job.text);
    if wanted.found.is_empty() {
        return Some(Vec::new());
    }
    let (more, folder) = (wanted.more, control.images());
    let shown = tokio::select! {
        shown = all(life, repo, wanted, &folder) => shown,
        () = interrupts.wait() => return None,
    };
    let missing = |shown: &Shown| {
        let why = shown.place.as_ref().err()?;
        Some(format!("the image {} could not be fetched: {why}", shown.picture.url))
    };
    let mut told: Vec<String> = shown.iter().filter_map(missing).collect();
    if more > 0 {
        told.push(format!("{more} more images were not fetched: a task has at most {}", shown.len()));
    }
    told.iter().for_each(|words| view.warn(words));
    let line = |words| LogLine::new(clock::now(), Level::Warn, "images", words);
    // What cannot be written there was said.
    let _ = life.store.append_logs(life.run, &told.into_iter().map(line).collect::<Vec<_>>()).await;
    Some(shown)
}

async fn all(life: &Life<'_>, repo: &RepoName, wanted: Pictures, folder: &Path) -> Vec<Shown> {
    let repo = match client(life, repo) {
        Ok(repo) => repo,
        Err(error) => {
            let why = format!("{error:#}");
            let none = |picture| Shown { picture, place: Err(why.clone()) };
            return wanted.found.into_iter().map(none).collect();
        }
    };
    let watch = Stopwatch::start();
    let (mut shown, mut left) = (Vec::new(), LARGEST_ALL);
    for (number, picture) in (1..).zip(wanted.found) {
        let fetching = one(&repo, &picture, &mut left, folder, number);
        let place = match timeout(PATIENCE_ALL.saturating_sub(watch.elapsed()), fetching).await {
            Ok(place) => place,
            Err(_) => Err(format!("all images of a task took more than {}s", PATIENCE_ALL.as_secs())),
        };
        shown.push(Shown { picture, place });
    }
    shown
}

fn client(life: &Life<'_>, repo: &RepoName) -> anyhow::Result<Repo> {
    let settings = Settings { total: PATIENCE, repeats: 1, ..Settings::default() };
    Ok(ground::client(life.plan.config()?, life.environment, settings)?.repo(repo.clone()))
}

async fn one(
    repo: &Repo,
    picture: &Picture,
    left: &mut usize,
    folder: &Path,
    number: u32,
) -> Result<PathBuf, String> {
    if *left == 0 {
        return Err(format!("the images of a task have more than {LARGEST_ALL} bytes"));
    }
    if folder.to_str().is_none_or(|folder| folder.contains(char::is_control)) {
        return Err("no agent can be told the name of Pilot's home".to_owned());
    }
    let bytes = repo.picture(&picture.url, LARGEST.min(*left)).await.map_err(|error| error.to_string())?;
    let kind = PictureKind::of(&bytes).ok_or("it is no PNG, JPEG, GIF or WebP image")?;
    *left -= bytes.len();
    let path = folder.join(format!("{number}.{}", kind.extension()));
    match write(folder, &path, &bytes) {
        Ok(()) => Ok(path),
        Err(error) => {
            // Half an image would be worse than none.
            let _ = fs::remove_file(&path);
            Err(format!("it could not be written: {error}"))
        }
    }
}

/// Nobody else's to read.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}
