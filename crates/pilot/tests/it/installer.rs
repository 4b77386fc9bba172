//! The installer as its user runs it: an archive goes to a prefix when its checksum is right, and nowhere when it is not.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::program::{Ended, command, run};

const ARCHIVE: &str = "pilot-9.9.9-x86_64-linux.tar.gz";

/// An archive in the form of `.ci/dist`, with a program that says its version, beside its checksums.
struct Download(TempDir);

impl Download {
    fn new() -> Download {
        let folder = tempfile::tempdir().expect("a folder");
        let script = format!(
            "umask 022; mkdir -p a/bin a/share/man/man1
printf '#!/bin/sh\\necho pilot 9.9.9\\n' >a/bin/pilot; chmod +x a/bin/pilot; echo page >a/share/man/man1/pilot.1
tar -czf {ARCHIVE} a; sha256sum {ARCHIVE} >SHA256SUMS; rm -r a"
        );
        let mut shell = command("sh");
        shell.args(["-ec", &script]).current_dir(folder.path());
        assert_eq!(run(shell).code, Some(0));
        Download(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn install(&self, args: &[&str]) -> Ended {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/install.sh");
        let mut shell = command("sh");
        shell.arg(script.canonicalize().expect("it is there")).args(args).current_dir(self.0.path());
        run(shell)
    }

    /// Nothing of it is anywhere.
    fn expect_nothing(&self, ended: &Ended, says: &str) {
        assert_eq!(ended.code, Some(1), "{} {}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
        assert!(!self.path("prefix").exists());
    }
}

#[test]
fn an_archive_with_its_checksum_is_installed_from_a_path_and_from_a_url() {
    let download = Download::new();
    let url = format!("file://{}", download.path(ARCHIVE).display());
    for from in [ARCHIVE, &format!("./{ARCHIVE}"), download.path(ARCHIVE).to_str().expect("UTF-8"), &url] {
        if from == url && run(command("curl")).code != Some(2) {
            println!("skipped: no curl here");
            continue;
        }
        let ended = download.install(&["--prefix", "prefix", from]);
        assert_eq!(ended.code, Some(0), "{from}: {}", ended.stderr);
        assert!(ended.stdout.contains("installed prefix/bin/pilot"), "{}", ended.stdout);
        assert_eq!(run(command(download.path("prefix/bin/pilot"))).stdout, "pilot 9.9.9\n");
        assert!(download.path("prefix/share/man/man1/pilot.1").exists());
        fs::remove_dir_all(download.path("prefix")).expect("installed");
    }
}

#[test]
fn what_does_not_have_its_checksum_is_not_installed() {
    let download = Download::new();
    let install = |args: &[&str]| download.install(&[&["--prefix", "prefix"], args].concat());
    fs::write(download.path("other"), "0000  another.tar.gz\n").expect("a file");
    download.expect_nothing(&install(&["--sums", "other", ARCHIVE]), "has no checksum of");
    download.expect_nothing(&install(&["nowhere.tar.gz"]), "cannot read nowhere.tar.gz");
    let mut bytes = fs::read(download.path(ARCHIVE)).expect("an archive");
    bytes.push(b'x');
    fs::write(download.path(ARCHIVE), bytes).expect("an archive");
    download.expect_nothing(&install(&[ARCHIVE]), "is not what its checksum says");
    fs::remove_file(download.path("SHA256SUMS")).expect("it was there");
    download.expect_nothing(&install(&[ARCHIVE]), "cannot read SHA256SUMS");
    for args in [&[][..], &["--prefix"], &["--what"], &["a", "b"]] {
        assert_eq!(download.install(args).code, Some(2), "{args:?}");
    }
}
