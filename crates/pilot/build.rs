//! How the program is linked, so that it starts fast: at a fixed address, which leaves the system nothing to adjust, and with
//! the unwinder of the C compiler inside, where there is one to link. See decision 010.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if !is_native() {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let Some(archive) = archive() else { return };
    if let Some(folder) = Path::new(&archive).parent().filter(|folder| folder.is_absolute()) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// Whether this machine's compiler builds for the machine that the program is for.
#[expect(clippy::disallowed_methods, reason = "cargo tells a build script everything by its environment")]
fn is_native() -> bool {
    let (target, host) = (std::env::var("TARGET"), std::env::var("HOST"));
    target.is_ok_and(|target| target.ends_with("-linux-gnu") && host == Ok(target))
}

/// The archive; none where the compiler has none, and then the shared library does.
#[expect(clippy::disallowed_methods, reason = "only the compiler knows where its files are")]
fn archive() -> Option<String> {
    let told = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output().ok()?;
    let path = String::from_utf8(told.stdout).ok()?.trim().to_owned();
    Path::new(&path).is_file().then_some(path)
}
