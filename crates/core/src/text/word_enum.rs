//! Enums whose values are single words, each with one spelling that is stored, shown and read.

/// `word_enum! { pub enum Level { Low = "low", } }` is the enum with `ALL`, `as_str`, `parse` and `Display`.
#[macro_export]
macro_rules! word_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$on:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$on])* $variant,)+
        }

        impl $name {
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            pub fn parse(word: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::text::WordEnum for $name {
            fn all() -> &'static [$name] {
                &$name::ALL
            }

            fn word(self) -> &'static str {
                self.as_str()
            }
        }
    };
}
pub(crate) use word_enum;

/// An enum whose values are single words.
pub trait WordEnum: Copy + 'static {
    fn all() -> &'static [Self];

    fn word(self) -> &'static str;

    fn words() -> Vec<&'static str> {
        Self::all().iter().map(|one| one.word()).collect()
    }
}
