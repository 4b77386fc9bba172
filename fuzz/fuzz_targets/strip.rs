#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pilot_testkit::fuzz::Target::Strip.run(data));
