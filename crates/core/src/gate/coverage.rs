//! How much the tests reach, as the tools say it.

use super::Percent;
use super::plain::plain;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The figure; the lowest, when there are several of the same kind.
    pub percent: Percent,
    pub figures: usize,
}

/// One tool's way to say it on a line.
type CoverageReader = fn(&str) -> Option<Percent>;

/// A figure for everything comes before one for a part.
const READERS: [CoverageReader; 8] =
    [go_total, istanbul_table, total_row, tarpaulin, total_coverage, statements, lines, any_coverage];

pub fn coverage(output: &str) -> Option<Coverage> {
    let text = plain(output);
    READERS.iter().find_map(|reader| {
        let found: Vec<Percent> = text.lines().map(str::trim).filter_map(reader).collect();
        let percent = found.iter().copied().min()?;
        Some(Coverage { percent, figures: found.len() })
    })
}

/// `total:  (statements)  75.0%`, of `go tool cover -func`.
fn go_total(line: &str) -> Option<Percent> {
    let rest = line.strip_prefix("total:")?.trim_start().strip_prefix("(statements)")?;
    number(rest)
}

/// `All files | 85.5 | 75 | 80 | 85.5 |`, of jest, nyc and c8: statements first.
fn istanbul_table(line: &str) -> Option<Percent> {
    let rest = line.strip_prefix("All files")?.trim_start().strip_prefix('|')?;
    Percent::parse(rest.split('|').next()?)
}

/// `TOTAL  120  12  90%`, of pytest-cov and gcovr; of `cargo llvm-cov` the third figure is that of the lines.
fn total_row(line: &str) -> Option<Percent> {
    let rest = line.strip_prefix("TOTAL").filter(|rest| rest.starts_with(char::is_whitespace))?;
    let figures: Vec<Percent> =
        rest.split_whitespace().filter(|word| word.ends_with('%')).filter_map(Percent::parse).collect();
    figures.get(2).or(figures.last()).copied()
}

/// `85.71% coverage, 6/7 lines covered`, of tarpaulin.
fn tarpaulin(line: &str) -> Option<Percent> {
    let (before, behind) = line.split_once("% coverage")?;
    if !behind.starts_with(',') {
        return None;
    }
    Percent::parse(before.split_whitespace().next_back()?)
}

/// `Total coverage: 90.12%`, `TOTAL COVERAGE = 90 %`.
fn total_coverage(line: &str) -> Option<Percent> {
    let lower = line.to_lowercase();
    let at = lower.find("total coverage")?;
    figure(&lower[at + "total coverage".len()..])
}

/// `Statements   : 85.71% ( 6/7 )`, of istanbul's summary.
fn statements(line: &str) -> Option<Percent> {
    figure(line.strip_prefix("Statements")?)
}

/// `Lines : 85.71%`, `lines......: 85.7% (6 of 7 lines)`, of istanbul, lcov and PHPUnit.
fn lines(line: &str) -> Option<Percent> {
    let rest = line.strip_prefix("Lines").or_else(|| line.strip_prefix("lines"))?;
    figure(rest.trim_start_matches('.'))
}

/// `coverage: 81.2% of statements`, of `go test -cover`, once a package; and of tools that print the same.
fn any_coverage(line: &str) -> Option<Percent> {
    let lower = line.to_lowercase();
    let at = lower.find("coverage")?;
    figure(&lower[at + "coverage".len()..])
}

fn figure(text: &str) -> Option<Percent> {
    number(text.trim_start().strip_prefix([':', '='])?)
}

fn number(text: &str) -> Option<Percent> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    text[end..].trim_start().starts_with('%').then(|| Percent::parse(&text[..end]))?
}

#[cfg(test)]
mod tests {
    use super::coverage;

    #[test]
    fn figures_of_known_tools() {
        let check = |output: &str, expect: Option<(&str, usize)>| {
            let found = coverage(output).map(|found| (found.percent.to_string(), found.figures));
            let found = found.as_ref().map(|(percent, figures)| (percent.as_str(), *figures));
            assert_eq!(found, expect, "{output}");
        };
        check(include_str!("../../tests/fixtures/gates/jest.txt"), Some(("50%", 1)));
        check(include_str!("../../tests/fixtures/gates/pytest.txt"), Some(("50%", 1)));
        check(include_str!("../../tests/fixtures/gates/cargo-test.txt"), None);
        check(include_str!("../../tests/fixtures/gates/go-test.txt"), None);
        check("ok  \tx/a\t0.1s\tcoverage: 81.2% of statements\n", Some(("81.2%", 1)));
        check(
            "ok x/a 0.1s coverage: 81.2% of statements\nok x/b (cached) coverage: 40.0% of statements\n\
             ok x/c 0.1s coverage: [no statements]\n",
            Some(("40%", 2)),
        );
        check(
            "ok x/b coverage: 40.0% of statements\nx/a.go:3:\tF\t100.0%\ntotal:\t\t\t(statements)\t75.0%\n",
            Some(("75%", 1)),
        );
        check("TOTAL      120     12     30      4    88%\n", Some(("88%", 1)));
        check("TOTAL      120     12    90.50%\n", Some(("90.5%", 1)));
        check("TOTAL  123  10  91.87%  20  2  90.00%  200  15  92.50%  0  0  -\n", Some(("92.5%", 1)));
        check("TOTAL  123  10  91.87%  20  2  90.00%  200  15  92.50%  10  5  50.00%\n", Some(("92.5%", 1)));
        check(
            "|| src/lib.rs: 6/7 +0.00%\n85.71% coverage, 6/7 lines covered, +0.00% change\n",
            Some(("85.71%", 1)),
        );
        check("Required test coverage of 80% reached. Total coverage: 90.12%\n", Some(("90.12%", 1)));
        check(
            "Statements   : 85.71% ( 6/7 )\nBranches     : 50% ( 1/2 )\nLines        : 83.33% ( 5/6 )\n",
            Some(("85.71%", 1)),
        );
        check("  lines......: 85.7% (6 of 7 lines)\n", Some(("85.7%", 1)));
        check("Coverage: 81.2 %\n", Some(("81.2%", 1)));
        check("\u{1b}[32mcoverage\u{1b}[0m: \u{1b}[1m81.2%\u{1b}[0m of statements\n", Some(("81.2%", 1)));
        for none in
            ["", "all is well", "coverage: high", "coverage: 81", "coverage: nan%", "TOTALLY 5%", "100%"]
        {
            check(none, None);
        }
    }

    #[test]
    fn a_figure_beyond_a_hundred_is_none() {
        assert_eq!(coverage("coverage: 250% of statements"), None);
    }
}
