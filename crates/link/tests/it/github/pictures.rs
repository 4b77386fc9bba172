//! Images: whom they are fetched from, and how much of them.

use pilot_link::tracker::PictureError;

use super::{Scene, TOKEN};
use crate::server::{Act, answer, refuse};

const LARGEST: usize = 1000;

fn moved(to: &str) -> Act {
    Act::Say(answer(302, &[("Location", to)], ""))
}

#[tokio::test]
async fn an_image_is_fetched_with_the_token_and_led_on_to_without() {
    let scene = Scene::of([moved("/elsewhere/1"), Act::Say(answer(200, &[], "bytes"))]).await;
    let url = scene.server.at("ada/engine/raw/main/a.png");
    assert_eq!(scene.repo.picture(url.as_str(), LARGEST).await.expect("an image"), b"bytes");
    let seen = scene.server.seen();
    let asked: Vec<_> =
        seen.iter().map(|seen| (seen.line(), seen.header("authorization").is_some())).collect();
    assert_eq!(asked, [("GET /ada/engine/raw/main/a.png", true), ("GET /elsewhere/1", false)]);
    assert!(seen[0].header("authorization").is_some_and(|value| value.contains(TOKEN)));
}

#[tokio::test]
async fn another_host_is_never_asked() {
    let other = Scene::of([]).await;
    let scene = Scene::of([moved(other.server.at("stolen").as_str())]).await;
    let own = scene.server.at("ada/engine/a.png").to_string();
    for url in [
        other.server.at("ada/engine/a.png").as_str(),
        "http://169.254.169.254/latest/meta-data/",
        "file:///etc/passwd",
        // A way there by the forge.
        &own,
    ] {
        let error = scene.repo.picture(url, LARGEST).await.expect_err("not the forge");
        assert!(matches!(error, PictureError::Elsewhere { .. }), "{url}: {error}");
    }
    assert!(other.server.seen().is_empty());
    let error = scene.repo.picture("http://", LARGEST).await.expect_err("no address");
    assert!(matches!(error, PictureError::BadAddress), "{error}");
}

#[tokio::test]
async fn what_is_too_large_is_not_read() {
    let gigabyte = b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n\x89PNG".to_vec();
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(2 * LARGEST)).into_bytes();
    let scene = Scene::of([Act::Stall(gigabyte), Act::Stall(endless)]).await;
    for _ in 0..2 {
        let error =
            scene.repo.picture(scene.server.at("a.png").as_str(), LARGEST).await.expect_err("too large");
        assert!(matches!(error, PictureError::TooLarge { limit: LARGEST }), "{error}");
    }
    assert_eq!(scene.server.seen().len(), 2, "it is not asked again");
}

#[tokio::test]
async fn circles_and_refusals_end() {
    let scene = Scene::of((0..5).map(|_| moved("/a.png"))).await;
    let error = scene.repo.picture(scene.server.at("a.png").as_str(), LARGEST).await.expect_err("a circle");
    assert!(matches!(error, PictureError::LedOn), "{error}");
    scene.server.then([refuse(404, "Not Found")]);
    let error = scene.repo.picture(scene.server.at("a.png").as_str(), LARGEST).await.expect_err("not there");
    assert_eq!(error.to_string(), "the forge answers with status 404");
    assert!(scene.server.is_done());
}
