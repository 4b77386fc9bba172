//! Images that an issue shows reach the agent as files; those that must not, do not, and no task fails because of them.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::json;

use super::world::World;
use crate::forge::http::git;
use crate::program::run;

/// An agent that keeps what it was told and shown.
const AGENT: &str = r#"#!/bin/sh
cat >"@/prompt"
mkdir "@/seen"
printf '%s\n' "$PILOT_IMAGE" >"@/images"
while read -r image; do [ -z "$image" ] || cp "$image" "@/seen/"; done <"@/images"
echo done >it.txt
git add -A && git -c user.name=Agent -c user.email=agent@example.org commit -qm "feat: it"
"#;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A world whose repository holds files, and whose agent keeps what it sees.
fn world(files: &[(&str, &[u8])]) -> World {
    let world = World::new();
    let agent = AGENT.replace('@', &world.folder.path().to_string_lossy());
    fs::write(world.path("agent.sh"), agent).expect("a file");
    let shop = world.shop();
    for (name, bytes) in files {
        fs::write(shop.join(name), bytes).expect("a file");
    }
    let url = world.client.clone_url("pilot/shop");
    for args in [&["add", "-A"][..], &["commit", "-qm", "pictures"], &["push", "-q", &url, "HEAD:main"]] {
        let ended = run(git(&shop, args));
        assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.stderr);
    }
    world
}

fn raw(world: &World, name: &str) -> String {
    format!("{}/pilot/shop/raw/main/{name}", world.client.url)
}

fn text(world: &World, name: &str) -> String {
    fs::read_to_string(world.path(name)).expect("a file")
}

#[test]
fn an_image_of_an_issue_reaches_the_agent_as_a_file() {
    let noise: Vec<u8> =
        (0..200_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (cart, list) = ([PNG, &noise].concat(), [b"GIF89a".as_slice(), &noise].concat());
    let world = world(&[("cart.png", &cart), ("list", &list)]);
    // It is not served without the token.
    world.change("PATCH", "", &json!({"private": true}));
    let (first, second) = (raw(&world, "cart.png"), raw(&world, "list"));
    let issue = world.file(
        "feat: repair the cart",
        &format!("It looks like this: ![the cart]({first})\n\n<img width=\"9\" alt=\"the list\" src=\"{second}\">\n`![no]({first}?)`"),
    );
    let ended = world.once();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(world.stage(issue), "done", "{}", ended.stderr);
    assert!(fs::read(world.path("seen/1.png")).expect("a file") == cart, "the same bytes");
    assert!(fs::read(world.path("seen/2.gif")).expect("a file") == list, "named for what it is");
    let (prompt, files) = (text(&world, "prompt"), text(&world, "images"));
    let files: Vec<PathBuf> = files.lines().map(PathBuf::from).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for (file, alt) in files.iter().zip(["the cart", "the list"]) {
        assert!(prompt.contains(&format!("- `{}` ({alt})\n", file.display())), "{prompt}");
        assert!(file.starts_with(world.home().join("runs")), "{}", file.display());
        assert!(!file.exists(), "it goes with its run");
    }
    let merged = world.files();
    assert!(!merged.iter().any(|name| name.contains("1.png") || name.contains("2.gif")), "{merged:?}");
}

#[test]
fn what_is_no_image_of_the_forges_is_said_and_fails_nobody() {
    let (fine, large) = ([PNG, b"fine"].concat(), [PNG, &vec![b'x'; 11 << 20]].concat());
    let world = world(&[("fine.png", &fine), ("large.png", &large), ("page.png", b"<svg onload=x>")]);
    let elsewhere = TcpListener::bind("127.0.0.1:0").expect("a port");
    let other = format!("http://{}/a.png", elsewhere.local_addr().expect("it listens"));
    let (url, fine) = (world.client.url.clone(), raw(&world, "fine.png"));
    let rows: [(String, &str); 8] = [
        (other, "127.0.0.1 is not the forge"),
        ("http://169.254.169.254/latest/meta-data/a.png".to_owned(), "169.254.169.254 is not the forge"),
        (format!("{}/a.png", url.replace("http://", "http://user:secret@")), "127.0.0.1 is not the forge"),
        (format!("{url}/assets/forge.css"), "it is no PNG, JPEG, GIF or WebP image"),
        (raw(&world, "page.png"), "it is no PNG, JPEG, GIF or WebP image"),
        (raw(&world, "large.png"), "it has more than 10485760 bytes"),
        (raw(&world, "none.png"), "the forge answers with status 404"),
        (raw(&world, "../../../../etc/passwd"), "it is no PNG, JPEG, GIF or WebP image"),
    ];
    let shown: String = rows.iter().map(|(url, _)| format!("![x]({url})\n")).collect();
    let more = "![x](file:///etc/passwd) ![x](/etc/passwd) ![x](data:image/png;base64,iVBORw0KGgo=)";
    let issue = world.file("feat: one", &format!("{shown}{more}\n![fine]({fine})"));
    let ended = run(world.pilot(&["github", "run", &issue.to_string()]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let prompt = text(&world, "prompt");
    for (url, why) in &rows {
        let said = format!("the image {url} could not be fetched: {why}");
        assert!(ended.stderr.contains(&said), "{said:?} is not in {}", ended.stderr);
        let told = format!("- `{url}` (x) could not be fetched: {why}");
        assert!(prompt.contains(&told), "{told:?} is not in {prompt}");
    }
    assert_eq!(text(&world, "images").lines().count(), 1, "{}", text(&world, "images"));
    assert_eq!(fs::read(world.path("seen/9.png")).expect("a file"), [PNG, b"fine"].concat());
    elsewhere.set_nonblocking(true).expect("a listener");
    let asked = elsewhere.accept().map(drop).expect_err("no request came");
    assert_eq!(asked.kind(), ErrorKind::WouldBlock);
}
