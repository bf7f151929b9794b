//! At which hits of a breakpoint to stop.

use fluvial_core::{Error, Result};

/// A condition on how often a breakpoint was hit: `3`, `== 3`, `>= 3`, `> 3`, `<= 3`, `< 3`, `% 100`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hits {
    /// This hit only.
    Equal(u64),
    /// This hit and all after it.
    AtLeast(u64),
    /// All hits up to this one.
    AtMost(u64),
    /// Every so many hits.
    Every(u64),
    /// None.
    Never,
}

impl Hits {
    /// Reads a condition.
    pub fn parse(text: &str) -> Result<Hits> {
        let text = text.trim();
        let signs = ["==", ">=", "<=", "=", ">", "<", "%"];
        let sign = signs.into_iter().find(|sign| text.starts_with(sign)).unwrap_or("");
        let number: Option<u64> = text[sign.len()..].trim().parse().ok();
        Ok(match (sign, number) {
            ("%", Some(n)) if n > 0 => Hits::Every(n),
            ("" | "=" | "==", Some(n)) => Hits::Equal(n),
            (">=", Some(n)) => Hits::AtLeast(n),
            (">", Some(n)) => n.checked_add(1).map_or(Hits::Never, Hits::AtLeast),
            ("<=", Some(n)) => Hits::AtMost(n),
            ("<", Some(n)) => n.checked_sub(1).map_or(Hits::Never, Hits::AtMost),
            _ => {
                return Err(Error::parse(format!(
                    "`{text}` is not a condition on a number of hits"
                ))
                .remedy("write `3`, `>= 3`, `> 3`, `<= 3`, `< 3` or `% 100`"));
            }
        })
    }

    /// Whether to stop at this hit, counted from 1.
    pub fn matches(self, count: u64) -> bool {
        match self {
            Hits::Equal(n) => count == n,
            Hits::AtLeast(n) => count >= n,
            Hits::AtMost(n) => count <= n,
            Hits::Every(n) => count.is_multiple_of(n),
            Hits::Never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions() {
        for (text, expected) in [
            ("3", &[3][..]),
            (" == 3 ", &[3]),
            ("=3", &[3]),
            (">= 3", &[3, 4, 5, 6]),
            ("> 3", &[4, 5, 6]),
            ("<3", &[1, 2]),
            ("<= 3", &[1, 2, 3]),
            ("% 2", &[2, 4, 6]),
            ("< 0", &[]),
            ("> 18446744073709551615", &[]),
        ] {
            let hits = Hits::parse(text).unwrap();
            let matched: Vec<u64> = (1..=6).filter(|count| hits.matches(*count)).collect();
            assert_eq!(matched, expected, "{text}");
        }
        for text in ["", "x", "% 0", ">= -1", "3 4", "1.5", "!= 3"] {
            let error = Hits::parse(text).unwrap_err();
            assert!(error.remedy_text().is_some(), "{text}");
        }
    }
}
