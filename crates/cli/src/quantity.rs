//! Numbers with units, of machines and links.

/// A number with a unit, in front of which there may be a prefix of thousands: `100Gbit` is 1e11 of `bit`.
fn quantity(text: &str, units: &[(&str, f64)], example: &str) -> Result<f64, String> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let (number, unit) = text.split_at(text.find(|c| !is_digit(c)).unwrap_or(text.len()));
    let unit = unit.trim().trim_end_matches("/s");
    let scaled = |(name, size): &(&str, f64)| {
        let scale = match unit.strip_suffix(name)? {
            "n" => 1e-9,
            "u" => 1e-6,
            "m" => 1e-3,
            "" => 1.0,
            "k" | "K" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "T" => 1e12,
            "P" => 1e15,
            _ => return None,
        };
        Some(scale * size)
    };
    let number = number.parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    match (number, units.iter().find_map(scaled)) {
        (Some(number), Some(scale)) => Ok(number * scale),
        _ => Err(format!("write a number and its unit: {example}")),
    }
}

/// What a link carries, in bytes a second: `100Gbit`, `12.5GB`.
pub fn link(text: &str) -> Result<f64, String> {
    quantity(text, &[("bit", 0.125), ("B", 1.0)], "100Gbit, 12.5GB")
}

/// What memory reads or writes, in bytes a second: `800GB`.
pub fn bandwidth(text: &str) -> Result<f64, String> {
    quantity(text, &[("B", 1.0)], "50GB, 2TB")
}

/// Multiplications and additions in a second: `100T`, `100Tflops`.
pub fn flops(text: &str) -> Result<f64, String> {
    quantity(text, &[("flops", 1.0), ("", 1.0)], "50G, 100T")
}

/// A short time, in seconds: `5us`, `35ms`, `2s`.
pub fn short_time(text: &str) -> Result<f64, String> {
    quantity(text, &[("s", 1.0)], "5us, 35ms, 2s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_known() {
        let near = |found: Result<f64, String>, wanted: f64| {
            assert!((found.unwrap() / wanted - 1.0).abs() < 1e-12);
        };
        near(link("100Gbit"), 12.5e9);
        near(link("12.5GB/s"), 12.5e9);
        near(bandwidth("2TB"), 2e12);
        near(flops("312Tflops"), 312e12);
        near(flops("50G"), 50e9);
        near(short_time("5us"), 5e-6);
        near(short_time("1.5s"), 1.5);
        for wrong in ["", "5", "-1us", "1.2.3s", "0s", "5 apples", "9e999s"] {
            assert!(short_time(wrong).is_err(), "{wrong}");
        }
        assert!(link("5m").is_err());
    }
}
