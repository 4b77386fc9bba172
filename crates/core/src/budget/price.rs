//! What tokens cost, by family of models.
//!
//! Names of models change faster than families, so a price belongs to words of the name: `opus` is in
//! `claude-opus-4-6` and in `us.anthropic.claude-opus-4-6-v1:0`. What is configured is asked first, then the table here, from the
//! special to the general. An unknown model costs as much as the most expensive one: a budget errs on the safe side.

use std::fmt;

use super::usd::Usd;
use crate::stream::Usage;

/// Longer names are none.
const LONGEST_NAME: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// Words that all stand in the name of a model of this family.
    pub family: String,
    pub input: Usd,
    pub output: Usd,
    pub cache_read: Usd,
    pub cache_write: Usd,
}

/// Family; cents of a dollar for a million tokens read, written, read from and written into a cache. List prices; where they
/// come from, docs/budget.md says.
const BUILT_IN: [(&str, [u64; 4]); 15] = [
    ("opus-4-1", [1_500, 7_500, 150, 1_875]),
    ("opus-4-0", [1_500, 7_500, 150, 1_875]),
    ("opus 20250514", [1_500, 7_500, 150, 1_875]),
    ("claude-3-opus", [1_500, 7_500, 150, 1_875]),
    ("opus", [500, 2_500, 50, 625]),
    ("sonnet", [300, 1_500, 30, 375]),
    ("haiku", [100, 500, 10, 125]),
    ("gpt pro", [1_500, 12_000, 1_500, 1_500]),
    ("gpt mini", [25, 200, 3, 25]),
    ("gpt", [175, 1_400, 18, 175]),
    ("codex", [175, 1_400, 18, 175]),
    ("gemini flash", [50, 300, 5, 50]),
    ("gemini", [400, 1_800, 40, 400]),
    ("qwen flash", [30, 150, 3, 30]),
    ("qwen", [100, 500, 10, 100]),
];

impl Price {
    /// Reads `FAMILY INPUT/OUTPUT` or `FAMILY INPUT/OUTPUT/CACHE_READ/CACHE_WRITE`, dollars for a million tokens. Without
    /// prices of its own a cache costs a tenth of the input to read and a quarter more than it to write.
    pub(crate) fn parse(text: &str) -> Result<Price, String> {
        let wanted = "write a family and dollars for a million tokens, as in \"sonnet 3/15\" or \"sonnet 3/15/0.3/3.75\" \
                      (input, output, cache read, cache write)";
        let (family, prices) = text.trim().rsplit_once(char::is_whitespace).ok_or(wanted)?;
        let family = family.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        if family.len() > LONGEST_NAME || family.contains('/') || family.chars().any(char::is_control) {
            return Err(wanted.to_owned());
        }
        let prices = prices.split('/').map(Usd::parse).collect::<Result<Vec<Usd>, _>>()?;
        match prices[..] {
            [input, output] => {
                let cache_read = Usd::from_micros(input.micros().div_ceil(10));
                let cache_write = Usd::from_micros((input.micros() * 5).div_ceil(4));
                Ok(Price { family, input, output, cache_read, cache_write })
            }
            [input, output, cache_read, cache_write] => {
                Ok(Price { family, input, output, cache_read, cache_write })
            }
            _ => Err(wanted.to_owned()),
        }
    }

    fn of(&self, usage: &Usage) -> Usd {
        let parts = [
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
        ];
        let sum = parts
            .iter()
            .fold(0_u128, |sum, (tokens, price)| sum + u128::from(*tokens) * u128::from(price.micros()));
        Usd::from_micros(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    fn is_of(&self, model: &str) -> bool {
        self.family.split(' ').all(|word| has_word(model, word))
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prices = [self.input, self.output, self.cache_read, self.cache_write].map(Usd::plain);
        write!(f, "{} {}", self.family, prices.join("/"))
    }
}

#[derive(Clone, Debug)]
pub struct Prices(Vec<Price>);

impl Prices {
    pub fn new(configured: &[Price]) -> Prices {
        let ours = BUILT_IN.iter().map(|(family, cents)| {
            let [input, output, cache_read, cache_write] =
                cents.map(|cents| Usd::from_micros(cents * 10_000));
            Price { family: (*family).to_owned(), input, output, cache_read, cache_write }
        });
        Prices(configured.iter().cloned().chain(ours).collect())
    }

    pub fn of(&self, model: &str) -> Option<&Price> {
        let mut model: String = model.chars().take(LONGEST_NAME).collect::<String>().to_lowercase();
        // Without a number behind it this is the first of them, which cost more than the later ones.
        if model.ends_with("opus-4") {
            model.push_str("-0");
        }
        self.0.iter().find(|price| price.is_of(&model))
    }

    /// What tokens of a model cost, and whether its price is known: if not, it is that of the most expensive family.
    pub(super) fn cost(&self, model: Option<&str>, usage: &Usage) -> (Usd, bool) {
        match model.and_then(|model| self.of(model)) {
            Some(price) => (price.of(usage), true),
            None => (self.dearest(usage), false),
        }
    }

    pub(super) fn dearest(&self, usage: &Usage) -> Usd {
        self.0.iter().map(|price| price.of(usage)).max().unwrap_or_default()
    }

    pub(super) fn cheapest(&self, usage: &Usage) -> Usd {
        self.0.iter().map(|price| price.of(usage)).min().unwrap_or_default()
    }

    pub fn notice(&self, model: Option<&str>) -> Option<String> {
        if model.is_some_and(|model| self.of(model).is_some()) {
            return None;
        }
        Some(super::words::unknown_price(model))
    }
}

/// Whether a word stands in a name, not in the middle of another: `mini` is not in `gemini`, but `qwen` is in `qwen3`.
fn has_word(name: &str, word: &str) -> bool {
    let ends = |text: &str| (text.chars().next(), text.chars().next_back());
    let goes_on = |left: Option<char>, right: Option<char>| {
        left.zip(right).is_some_and(|(left, right)| {
            (left.is_alphabetic() && right.is_alphabetic()) || (left.is_numeric() && right.is_numeric())
        })
    };
    name.match_indices(word).any(|(at, found)| {
        let (first, last) = ends(found);
        !goes_on(ends(&name[..at]).1, first) && !goes_on(last, ends(&name[at + found.len()..]).0)
    })
}

#[cfg(test)]
mod tests {
    use super::{Price, Prices, Usd};
    use crate::stream::Usage;

    fn million(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
        Usage {
            input_tokens: input * 1_000_000,
            output_tokens: output * 1_000_000,
            cache_read_tokens: cache_read * 1_000_000,
            cache_write_tokens: cache_write * 1_000_000,
            cost_usd: None,
        }
    }

    #[test]
    fn models_find_their_family() {
        let prices = Prices::new(&[]);
        for (model, family) in [
            ("claude-opus-4-6", Some("opus")),
            ("claude-opus-4-1-20250805", Some("opus-4-1")),
            ("claude-opus-4-20250514", Some("opus 20250514")),
            ("claude-opus-4@20250514", Some("opus 20250514")),
            ("anthropic/claude-opus-4", Some("opus-4-0")),
            ("claude-3-opus-20240229", Some("claude-3-opus")),
            ("us.anthropic.claude-sonnet-4-6-v1:0", Some("sonnet")),
            ("anthropic/claude-sonnet-4-6", Some("sonnet")),
            ("claude-haiku-4-5-20251001", Some("haiku")),
            ("sonnet[1m]", Some("sonnet")),
            ("Opus", Some("opus")),
            ("gpt-5.2-codex", Some("gpt")),
            ("gpt-5-mini", Some("gpt mini")),
            ("codex-latest", Some("codex")),
            ("gemini-3-pro", Some("gemini")),
            ("gemini-3-flash-preview", Some("gemini flash")),
            ("gpt-5-pro", Some("gpt pro")),
            ("qwen3-coder-plus", Some("qwen")),
            ("qwen3.5-flash", Some("qwen flash")),
            ("claude-opus-4-15", Some("opus")),
            ("llama-4", None),
            ("opusplan", None),
            ("", None),
        ] {
            assert_eq!(prices.of(model).map(|price| price.family.as_str()), family, "{model}");
        }
    }

    #[test]
    fn the_documentation_lists_every_price() {
        let page = include_str!("../../../../docs/budget.md");
        for price in &Prices::new(&[]).0 {
            assert!(page.contains(&format!("\n{price}\n")), "docs/budget.md: {price}");
        }
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let prices = Prices::new(&[]);
        for (model, usage, dollars) in [
            ("sonnet", million(1, 0, 0, 0), 3.0),
            ("sonnet", million(0, 1, 0, 0), 15.0),
            ("sonnet", million(0, 0, 1, 0), 0.3),
            ("sonnet", million(0, 0, 0, 1), 3.75),
            ("opus", million(1, 1, 1, 1), 36.75),
        ] {
            assert_eq!(
                prices.cost(Some(model), &usage),
                (Usd::from_dollars(dollars).unwrap(), true),
                "{model}"
            );
        }
        let one = Usage { cache_read_tokens: 1, ..Usage::default() };
        assert_eq!(prices.cost(Some("haiku"), &one).0, Usd::from_micros(1), "something is not nothing");
        let endless = Usage { output_tokens: u64::MAX, input_tokens: u64::MAX, ..Usage::default() };
        assert_eq!(prices.cost(Some("opus"), &endless).0, Usd::from_micros(u64::MAX));
    }

    #[test]
    fn an_unknown_model_costs_as_much_as_the_most_expensive() {
        let prices = Prices::new(&[]);
        let usage = million(1, 1, 0, 0);
        let dearest = Usd::from_dollars(135.0).unwrap();
        assert_eq!(prices.cost(Some("llama-4"), &usage), (dearest, false));
        assert_eq!(prices.cost(None, &usage), (dearest, false));
        let notice = prices.notice(Some("llama-4")).unwrap();
        assert_eq!(
            notice,
            "the price of the model \"llama-4\" is not known, so it counts as the most expensive one; name it in budget.prices"
        );
        assert!(prices.notice(None).unwrap().contains("the agent does not say which model it uses"));
        assert_eq!(prices.notice(Some("sonnet")), None);
    }

    #[test]
    fn what_is_configured_comes_first() {
        let own = [Price::parse("llama 0.5/1").unwrap(), Price::parse("sonnet  2/10/1/1").unwrap()];
        let prices = Prices::new(&own);
        assert_eq!(prices.cost(Some("llama-4"), &million(1, 1, 1, 1)).0, Usd::from_dollars(2.175).unwrap());
        assert_eq!(
            prices.cost(Some("claude-sonnet-4-6"), &million(1, 1, 1, 1)).0,
            Usd::from_dollars(14.0).unwrap()
        );
        assert_eq!(own[1].to_string(), "sonnet 2/10/1/1");
        assert_eq!(Price::parse(&own[0].to_string()), Ok(own[0].clone()));
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for text in
            ["", "sonnet", "3/15", "sonnet 3", "sonnet 3/15/1", "sonnet 3/15/1/1/1", "sonnet a/b", "a/b 1/2"]
        {
            assert!(Price::parse(text).is_err(), "{text:?}");
        }
    }
}
