//! Recordings: joined, redacted, capped.

use pilot_store::{Cap, RunId, Store, StreamKind, StreamRecorder};

use crate::world::{SECRET, World, at, run_of};

async fn begun(store: &Store) -> RunId {
    store.begin_execution(&run_of("GH-1", at(0))).await.expect("a run begins").id
}

fn text(rows: &[pilot_store::StreamRow], kind: StreamKind) -> String {
    let bytes: Vec<u8> =
        rows.iter().filter(|row| row.kind == kind).flat_map(|row| row.bytes.clone()).collect();
    String::from_utf8(bytes).expect("text")
}

#[tokio::test]
async fn what_was_printed_comes_back_in_order() {
    let world = World::new();
    let store = world.store().await;
    let run = begun(&store).await;
    let mut recorder = StreamRecorder::new(&store, run.clone(), Cap::default());
    recorder.stdout(10, b"one\n");
    recorder.stdout(20, b"two\n");
    assert!(!recorder.is_due(200), "not much, not long");
    assert!(recorder.is_due(250));
    recorder.flush(&store, 250).await.unwrap();
    assert!(!recorder.is_due(10_000), "nothing waits");
    recorder.stderr(300, b"warned\n");
    recorder.stdout(310, b"three\n");
    recorder.note(320, "the agent was started again");
    recorder.stdout(1310, &[0xff, 0xfe]);
    recorder.finish(&store, 1400).await.unwrap();
    let rows = store.stream(&run).await.unwrap();
    let stored: Vec<(u64, StreamKind, &[u8])> =
        rows.iter().map(|row| (row.at_ms, row.kind, row.bytes.as_slice())).collect();
    assert_eq!(
        stored,
        [
            (10, StreamKind::Stdout, &b"one\ntwo\n"[..]),
            (300, StreamKind::Stderr, b"warned\n"),
            (310, StreamKind::Stdout, b"three\n"),
            (320, StreamKind::Note, b"the agent was started again"),
            (1310, StreamKind::Stdout, &[0xff, 0xfe]),
        ]
    );
}

#[tokio::test]
async fn a_secret_in_two_chunks_and_two_batches_is_not_kept() {
    let world = World::new();
    let store = world.store().await;
    let run = begun(&store).await;
    let mut recorder = StreamRecorder::new(&store, run.clone(), Cap::default());
    for (at_ms, out, err) in [(0, "login hun", "key sk-ant-api03-abc"), (500, "ter22 ok", "defghijklmnop!")] {
        recorder.stdout(at_ms, out.as_bytes());
        recorder.stderr(at_ms, err.as_bytes());
        recorder.flush(&store, at_ms).await.unwrap();
    }
    recorder.note(600, "with hunter22");
    recorder.finish(&store, 700).await.unwrap();
    let rows = store.stream(&run).await.unwrap();
    assert_eq!(text(&rows, StreamKind::Stdout), "login [redacted] ok");
    assert_eq!(text(&rows, StreamKind::Stderr), "key [redacted]!");
    assert_eq!(text(&rows, StreamKind::Note), "with [redacted]");
    store.close().await;
    let file = std::fs::read(world.path()).unwrap();
    assert!(!file.windows(8).any(|window| window == b"hunter22"));
}

#[tokio::test]
async fn a_long_recording_keeps_its_begin_and_its_end_and_says_what_is_missing() {
    let cap = Cap { head: 1000, tail: 500 };
    let line = |number: u32| format!("line {number:>5}\n");
    for lines_a_flush in [1, 7, 100, 10_000] {
        let world = World::new();
        let store = world.store().await;
        let run = begun(&store).await;
        let mut recorder = StreamRecorder::new(&store, run.clone(), cap);
        let mut all = String::new();
        for number in 0..1000 {
            all.push_str(&line(number));
            recorder.stdout(u64::from(number) * 1000, line(number).as_bytes());
            if number % lines_a_flush == 0 {
                recorder.flush(&store, u64::from(number) * 1000).await.unwrap();
            }
        }
        recorder.finish(&store, 1_000_000).await.unwrap();
        let rows = store.stream(&run).await.unwrap();
        let kept = text(&rows, StreamKind::Stdout);
        let (head, tail) = kept.split_at(1000);
        assert_eq!(head, &all[..1000]);
        assert!(all.ends_with(tail) && (400..=500).contains(&tail.len()), "{} bytes: {tail}", tail.len());
        let missing = all.len() - kept.len();
        assert_eq!(text(&rows, StreamKind::Note), format!("{missing} bytes of output are not kept here"));
        let note = rows.iter().position(|row| row.kind == StreamKind::Note).unwrap();
        assert_eq!(text(&rows[..note], StreamKind::Stdout), head, "the note is between head and tail");
    }
}

#[tokio::test]
async fn chunks_larger_than_the_cap_and_recordings_just_as_large_are_fine() {
    let world = World::new();
    let store = world.store().await;
    let cap = Cap { head: 100_000, tail: 100_000 };
    for (size, missing) in [(200_000, 0), (200_001, 1), (1_000_000, 800_000)] {
        let run = begun(&store).await;
        let mut recorder = StreamRecorder::new(&store, run.clone(), cap);
        recorder.stdout(0, &b".".repeat(size));
        recorder.finish(&store, 1).await.unwrap();
        let rows = store.stream(&run).await.unwrap();
        assert_eq!(text(&rows, StreamKind::Stdout).len(), size - missing);
        assert_eq!(rows.iter().any(|row| row.kind == StreamKind::Note), missing > 0);
    }
}

#[tokio::test]
async fn a_flush_that_fails_loses_nothing_and_holds_no_more_than_the_cap() {
    let world = World::new();
    let store = world.store().await;
    let run = begun(&store).await;
    let mut recorder = StreamRecorder::new(&store, run.clone(), Cap { head: 1000, tail: 1000 });
    let closed = world.store().await;
    closed.close().await;
    for number in 0..100_u64 {
        recorder.stdout(number * 500, &[b'.'; 100]);
        assert!(recorder.flush(&closed, number * 500).await.is_err());
    }
    recorder.finish(&store, 60_000).await.unwrap();
    let rows = store.stream(&run).await.unwrap();
    assert_eq!(text(&rows, StreamKind::Stdout).len(), 2000);
    assert_eq!(text(&rows, StreamKind::Note), "8000 bytes of output are not kept here");
}

/// So much of both streams, with a secret every few lines; standard error is a hundredth of it.
fn leaky(lines: usize) -> Vec<(StreamKind, String)> {
    let line = |number: usize| match number % 100 {
        99 => (StreamKind::Stderr, format!("err {number} {SECRET}\n")),
        _ if number.is_multiple_of(3) => (StreamKind::Stdout, format!("out {number} {SECRET}.\n")),
        _ => (StreamKind::Stdout, format!("out {number} and nothing more to say about it\n")),
    };
    (0..lines).map(line).collect()
}

#[tokio::test]
async fn no_part_of_a_secret_is_kept_wherever_a_recording_is_cut() {
    // Sizes that put the borders of begin, end and chunks into, before and behind secrets; chunks of one byte to some pieces.
    for (shift, chunk, every) in [
        (0, 7, 1000),
        (1, 4096, 3),
        (13, 65_536, 1),
        (29, 100_000, 2),
        (41, 1_000_000, 1),
        (50, 333, 100_000),
    ] {
        let world = World::new();
        let store = world.store().await;
        let run = begun(&store).await;
        let cap = Cap { head: 10_000 + shift, tail: 20_000 + shift };
        let mut recorder = StreamRecorder::new(&store, run.clone(), cap);
        let mut buffers = [(StreamKind::Stdout, Vec::new()), (StreamKind::Stderr, Vec::new())];
        let (mut pushed, mut at_ms) = (0, 0);
        for (kind, line) in leaky(20_000) {
            for (of, buffer) in &mut buffers {
                if *of == kind {
                    buffer.extend_from_slice(line.as_bytes());
                }
                while buffer.len() >= chunk {
                    let rest = buffer.split_off(chunk);
                    let now = std::mem::replace(buffer, rest);
                    take(&mut recorder, *of, at_ms, &now);
                    (pushed, at_ms) = (pushed + 1, at_ms + 10);
                    if pushed % every == 0 {
                        recorder.flush(&store, at_ms).await.unwrap();
                    }
                }
            }
        }
        for (kind, buffer) in &buffers {
            take(&mut recorder, *kind, at_ms, buffer);
        }
        recorder.finish(&store, at_ms).await.unwrap();
        let rows = store.stream(&run).await.unwrap();
        let (out, err) = (text(&rows, StreamKind::Stdout), text(&rows, StreamKind::Stderr));
        assert!(
            out.contains("out 0 [redacted]") && out.ends_with("out 19998 [redacted].\n"),
            "{chunk}: {out}"
        );
        assert!(err.ends_with("err 19999 [redacted]\n"), "{chunk}: {err}");
        assert!((20_000..=30_150).contains(&(out.len() + err.len())), "{chunk}: {}", out.len() + err.len());
        store.close().await;
        let (file, part) = (std::fs::read(world.path()).unwrap(), b"QZQ");
        assert!(
            !file.windows(part.len()).any(|window| window == part),
            "{chunk}: a part of a secret is kept"
        );
    }
}

fn take(recorder: &mut StreamRecorder, kind: StreamKind, at_ms: u64, bytes: &[u8]) {
    match kind {
        StreamKind::Stdout => recorder.stdout(at_ms, bytes),
        StreamKind::Stderr => recorder.stderr(at_ms, bytes),
        StreamKind::Note => recorder.note(at_ms, &String::from_utf8_lossy(bytes)),
    }
}

#[tokio::test]
async fn a_few_lines_among_megabytes_of_the_other_stream_are_not_lost() {
    let world = World::new();
    let store = world.store().await;
    let run = begun(&store).await;
    let mut recorder = StreamRecorder::new(&store, run.clone(), Cap { head: 1000, tail: 300_000 });
    let much = b"much ado about nothing\n".repeat(20_000);
    recorder.stdout(0, &much);
    recorder.stderr(1, b"warned: hunter");
    recorder.note(2, "what was noted before");
    (0..10).for_each(|turn| recorder.stdout(100 + turn, &much));
    recorder.stderr(1000, b"22 is no good\n");
    recorder.note(1001, "what was noted last");
    recorder.stdout(1002, &much[..23 * 4000]);
    recorder.finish(&store, 2000).await.unwrap();
    let rows = store.stream(&run).await.unwrap();
    // Its first half is gone with what was printed then, and takes the second half along.
    assert_eq!(text(&rows, StreamKind::Stderr), "[redacted] is no good\n");
    assert!(text(&rows, StreamKind::Note).ends_with("what was noted last"));
    assert!(text(&rows, StreamKind::Stdout).ends_with("much ado about nothing\n"));
}
