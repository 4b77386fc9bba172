//! The daemon's log: lines on standard error, or in a file that is turned over when it is large.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pilot_core::config::{LogFormat, LogLevel, Logging};
use serde_json::json;

use super::setup::at_home;
use crate::{clock, printable};

/// Where lines go, and which.
#[derive(Debug)]
pub(crate) struct Log {
    level: LogLevel,
    format: LogFormat,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Nowhere,
    Stderr,
    File { path: PathBuf, file: File, size: u64, max_size: u64, backups: u32 },
}

impl Log {
    /// As it is configured. A relative file lies below Pilot's directory, and `~/` is the user's.
    pub(crate) fn open(config: &Logging, home: &Path, user: Option<&Path>) -> io::Result<Log> {
        let sink = match &config.output {
            None => Sink::Stderr,
            Some(path) => {
                let path = home.join(at_home(path, user));
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                let (file, size) = append(&path)?;
                let (max_size, backups) = (config.rotation.max_size, config.rotation.max_backups);
                Sink::File { path, file, size, max_size, backups }
            }
        };
        Ok(Log { level: config.level, format: config.format, sink })
    }

    /// A log that writes nothing.
    pub(crate) fn silent() -> Log {
        Log { level: LogLevel::Error, format: LogFormat::Text, sink: Sink::Nowhere }
    }

    pub(crate) fn error(&mut self, about: &str, text: &str) {
        self.write(LogLevel::Error, about, text);
    }

    pub(crate) fn warn(&mut self, about: &str, text: &str) {
        self.write(LogLevel::Warn, about, text);
    }

    pub(crate) fn info(&mut self, about: &str, text: &str) {
        self.write(LogLevel::Info, about, text);
    }

    pub(crate) fn debug(&mut self, about: &str, text: &str) {
        self.write(LogLevel::Debug, about, text);
    }

    fn write(&mut self, level: LogLevel, about: &str, text: &str) {
        if level > self.level {
            return;
        }
        let (at, text) = (clock::now(), printable::line(text, 2000));
        let line = match self.format {
            LogFormat::Text => format!("{at} {:<5} {about}: {text}\n", level.as_str()),
            LogFormat::Json => {
                format!(
                    "{}\n",
                    json!({"at": at.to_string(), "level": level.as_str(), "about": about, "text": text})
                )
            }
        };
        // A log that cannot be written holds nothing up.
        let _ = self.sink.write(line.as_bytes());
    }
}

impl Sink {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        match self {
            Sink::Nowhere => Ok(()),
            Sink::Stderr => io::stderr().write_all(line),
            Sink::File { path, file, size, max_size, backups } => {
                if *size > 0 && *size + line.len() as u64 > *max_size {
                    turn_over(path, *backups)?;
                    (*file, *size) = append(path)?;
                }
                *size += line.len() as u64;
                file.write_all(line)
            }
        }
    }
}

fn append(path: &Path) -> io::Result<(File, u64)> {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

/// `log` becomes `log.1`, that `log.2`, and so on; the last one goes.
fn turn_over(path: &Path, backups: u32) -> io::Result<()> {
    let numbered = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    if backups == 0 {
        return fs::remove_file(path);
    }
    for number in (1..backups).rev() {
        let _ = fs::rename(numbered(number), numbered(number + 1));
    }
    fs::rename(path, numbered(1))
}

#[cfg(test)]
mod tests {
    use pilot_core::config::{LogFormat, LogLevel, Logging};

    use super::Log;

    #[test]
    fn a_log_is_turned_over_and_keeps_so_many() {
        let home = tempfile::tempdir().unwrap();
        let mut config = Logging { output: Some("logs/pilot.log".to_owned()), ..Logging::default() };
        config.rotation.max_size = 100;
        config.rotation.max_backups = 2;
        let mut log = Log::open(&config, home.path(), None).unwrap();
        for number in 0..10 {
            log.info("x", &format!("line {number} {}", "y".repeat(40)));
        }
        let mut names: Vec<String> = std::fs::read_dir(home.path().join("logs"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["pilot.log", "pilot.log.1", "pilot.log.2"]);
        let last = std::fs::read_to_string(home.path().join("logs/pilot.log")).unwrap();
        assert!(last.contains("line 9"), "{last}");
    }

    #[test]
    fn level_and_format_are_as_configured() {
        let home = tempfile::tempdir().unwrap();
        let config = Logging {
            output: Some("a.log".to_owned()),
            level: LogLevel::Warn,
            format: LogFormat::Json,
            ..Logging::default()
        };
        let mut log = Log::open(&config, home.path(), None).unwrap();
        log.info("x", "quiet");
        log.warn("GH-1", "loud\nand \u{1b}[31mred");
        let text = std::fs::read_to_string(home.path().join("a.log")).unwrap();
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((line["level"].as_str(), line["about"].as_str()), (Some("warn"), Some("GH-1")));
        assert_eq!(text.lines().count(), 1);
    }
}
