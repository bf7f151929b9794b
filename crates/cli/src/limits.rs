//! What a run may need at most.

use std::time::Duration;

use clap::Args;
use fluvial::core::Limits;

/// Limits, for programs of others.
#[derive(Args)]
pub struct LimitArgs {
    /// End the run with an error when tensors or the process hold more memory (`500M`, `2G`, or bytes).
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub limit_memory: Option<u64>,
    /// End the run with an error when it takes longer (`30s`, `5m`, `1h`).
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub limit_time: Option<Duration>,
    /// End the run with an error after so many iterations of its loops, nested ones included.
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
}

impl LimitArgs {
    /// The limits.
    pub fn limits(&self) -> Limits {
        Limits { memory: self.limit_memory, time: self.limit_time, trips: self.max_steps }
    }

    /// The limits; where there are none, those that keep a run on made-up numbers from going on for ever.
    pub fn on_made_up(&self, is_made_up: bool) -> Limits {
        let Limits { memory, time, trips } = self.limits();
        match (time, trips) {
            (None, None) if is_made_up => Limits { memory, time: Some(LONG), trips: Some(MANY) },
            _ => self.limits(),
        }
    }
}

/// The most trips and the longest time on made-up numbers.
const MANY: u64 = 20_000;
const LONG: Duration = Duration::from_secs(30);

/// A number of bytes: `500M` is 500 MiB.
pub fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "write a number of bytes, or of `K`, `M`, `G` or `T`: 500M, 2G".to_string();
    let (number, unit) = split(text);
    let scale = match unit.trim_end_matches("iB").trim_end_matches('B') {
        "" => 1,
        "k" | "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1u64 << 40,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().ok().filter(|&n| n > 0).ok_or_else(wrong)?;
    number.checked_mul(scale).ok_or_else(wrong)
}

/// A time: `30s`, `5m`, `1h`; a bare number is one of seconds.
fn time(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let found = number.parse().ok().filter(|&n| n > 0).and_then(|n| seconds(n, unit.trim()));
    found.ok_or_else(|| "write a time: 30s, 5m, 1h".to_string())
}

/// So many seconds, minutes or hours.
pub fn seconds(number: u64, unit: &str) -> Option<Duration> {
    let scale = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    number.checked_mul(scale).map(Duration::from_secs)
}

/// The digits that a text begins with, and the rest.
pub fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        for (text, expected) in
            [("17", 17), ("500M", 500 << 20), ("2G", 2 << 30), ("2GiB", 2 << 30), ("1k", 1024)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for wrong in ["", "0", "G", "1.5G", "-1", "2X", "99999999999T"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        for (text, expected) in [("30s", 30), ("5m", 300), ("1h", 3600), ("7", 7)] {
            assert_eq!(time(text), Ok(Duration::from_secs(expected)), "{text}");
        }
        for wrong in ["", "0", "h", "1d", "-1", "99999999999999999999h", "9999999999999999999h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
