//! The command line of the fuzzer.

use std::path::PathBuf;

use pilot_testkit::fuzz::Target;

pub(crate) const USAGE: &str = "\
usage: fuzz --target signals|strip|streams [--runs N] [--seed N] [--corpus DIR] [--failures DIR]
       fuzz --target signals|strip|streams --input FILE

  --runs N        how many inputs to judge (100000)
  --seed N        another seed, other inputs (1)
  --corpus DIR    kept inputs to start from
  --failures DIR  where an input that breaks a law is kept (fuzz/artifacts)
  --input FILE    judge this one input";

#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) target: Target,
    pub(crate) runs: u64,
    pub(crate) seed: u64,
    pub(crate) corpus: Option<PathBuf>,
    pub(crate) failures: PathBuf,
    pub(crate) input: Option<PathBuf>,
}

impl Args {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
        let mut target = None;
        let mut args = Args {
            target: Target::Signals,
            runs: 100_000,
            seed: 1,
            corpus: None,
            failures: PathBuf::from("fuzz/artifacts"),
            input: None,
        };
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} has no value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{word}: no number: {value}"));
            match word.as_str() {
                "--target" => target = Target::parse(&value),
                "--runs" => args.runs = number()?,
                "--seed" => args.seed = number()?,
                "--corpus" => args.corpus = Some(value.into()),
                "--failures" => args.failures = value.into(),
                "--input" => args.input = Some(value.into()),
                _ => return Err(format!("{word} is no option")),
            }
        }
        Ok(Args { target: target.ok_or("--target is to name one of the targets")?, ..args })
    }
}
