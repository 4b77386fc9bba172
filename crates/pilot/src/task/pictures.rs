//! The images that an issue shows, fetched before its agent starts, into files of the run that no commit can take up. One that
//! cannot be fetched fails no task: the log and the prompt say so.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pilot_core::config::{LogLevel, ProjectTracker};
use pilot_core::intake::{Picture, PictureKind, Pictures, pictures};
use pilot_core::prompt::{Image, ImagePlace};
use pilot_link::http::Settings;
use pilot_link::tracker::Tracker;
use pilot_store::LogLine;
use tokio::time::timeout;

use super::control::Control;
use super::run::RunStart;
use super::view::View;
use crate::agent::interrupts::Interrupts;
use crate::clock::{self, Stopwatch};
use crate::daemon::setup;

/// The largest image, and the most bytes of all of a task.
const LARGEST: usize = 10 << 20;
const LARGEST_ALL: usize = 30 << 20;

/// The time limit of one, and of all of them.
const TIMEOUT: Duration = Duration::from_secs(20);
const TIMEOUT_ALL: Duration = Duration::from_secs(60);

/// An image that the task shows: a file, or why there is none.
#[derive(Clone, Debug)]
pub(crate) struct TaskImage {
    picture: Picture,
    place: Result<PathBuf, String>,
}

impl TaskImage {
    pub(crate) fn for_prompt(&self) -> Image<'_> {
        let Picture { url, alt } = &self.picture;
        let place = match &self.place {
            Ok(path) => ImagePlace::File(path.to_str().unwrap_or_default()),
            Err(why) => ImagePlace::Missing { url, why },
        };
        Image { alt, place }
    }

    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.place.as_ref().ok()
    }
}

/// Fetches the images of the run's task; none when the user ends the run meanwhile.
pub(crate) async fn fetch(
    start: &RunStart<'_>,
    control: &Control,
    interrupts: &mut Interrupts,
    view: &mut View,
) -> Option<Vec<TaskImage>> {
    let job = &start.plan.job;
    let Some(tracker) = &job.issue_of else { return Some(Vec::new()) };
    let wanted = pictures(&job.text);
    if wanted.found.is_empty() {
        return Some(Vec::new());
    }
    let (more, folder) = (wanted.more, control.images());
    let shown = tokio::select! {
        shown = all(start, tracker, wanted, &folder) => shown,
        () = interrupts.wait() => return None,
    };
    let missing = |image: &TaskImage| {
        let why = image.place.as_ref().err()?;
        Some(format!("the image {} could not be fetched: {why}", image.picture.url))
    };
    let mut warnings: Vec<String> = shown.iter().filter_map(missing).collect();
    if more > 0 {
        warnings.push(format!("{more} more images were not fetched: a task has at most {}", shown.len()));
    }
    warnings.iter().for_each(|words| view.warn(words));
    let line = |words| LogLine::new(clock::now(), LogLevel::Warn, "images", words);
    // The user has seen them, should this fail.
    let _ = start.store.append_logs(start.run, &warnings.into_iter().map(line).collect::<Vec<_>>()).await;
    Some(shown)
}

async fn all(
    start: &RunStart<'_>,
    tracker: &ProjectTracker,
    wanted: Pictures,
    folder: &Path,
) -> Vec<TaskImage> {
    let tracker = match connect(start, tracker) {
        Ok(tracker) => tracker,
        Err(error) => {
            let why = format!("{error:#}");
            let none = |picture| TaskImage { picture, place: Err(why.clone()) };
            return wanted.found.into_iter().map(none).collect();
        }
    };
    let watch = Stopwatch::start();
    let (mut shown, mut left) = (Vec::new(), LARGEST_ALL);
    for (number, picture) in (1..).zip(wanted.found) {
        let fetching = one(&tracker, &picture, &mut left, folder, number);
        let place = match timeout(TIMEOUT_ALL.saturating_sub(watch.elapsed()), fetching).await {
            Ok(place) => place,
            Err(_) => Err(format!("all images of a task took more than {}s", TIMEOUT_ALL.as_secs())),
        };
        shown.push(TaskImage { picture, place });
    }
    shown
}

fn connect(start: &RunStart<'_>, tracker: &ProjectTracker) -> anyhow::Result<Tracker> {
    let settings = Settings { total_timeout: TIMEOUT, max_retries: 1, ..Settings::default() };
    let connector = setup::connector(start.plan.config()?, start.environment, settings);
    Ok(Tracker::connect(tracker, &connector)?)
}

async fn one(
    tracker: &Tracker,
    picture: &Picture,
    left: &mut usize,
    folder: &Path,
    number: u32,
) -> Result<PathBuf, String> {
    if *left == 0 {
        return Err(format!("the images of a task have more than {LARGEST_ALL} bytes"));
    }
    if folder.to_str().is_none_or(|folder| folder.contains(char::is_control)) {
        return Err("the path of Pilot's home has characters that no prompt can hold".to_owned());
    }
    let bytes = tracker.picture(&picture.url, LARGEST.min(*left)).await.map_err(|error| error.to_string())?;
    let kind = PictureKind::of(&bytes).ok_or("it is no PNG, JPEG, GIF or WebP image")?;
    *left -= bytes.len();
    let path = folder.join(format!("{number}.{}", kind.extension()));
    match write(folder, &path, &bytes) {
        Ok(()) => Ok(path),
        Err(error) => {
            // A partial image is worse than none.
            let _ = fs::remove_file(&path);
            Err(format!("it could not be written: {error}"))
        }
    }
}

/// Writes a file that no other user can read.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}
