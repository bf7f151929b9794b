//! Numbers as text.

/// A number with four digits that count: `0.9823`, `-3.1`, `12345`, `1.5e-7`.
pub fn short(x: f64) -> String {
    if !x.is_finite() {
        return format!("{x}");
    }
    significant(x, 4)
}

/// A number with so many digits that count, at least one; without zeros at the end.
pub fn significant(x: f64, digits: usize) -> String {
    let digits = digits.clamp(1, 17);
    if x == 0.0 {
        return "0".to_string();
    }
    if !x.is_finite() {
        return format!("{x}");
    }
    let scientific = format!("{:.*e}", digits - 1, x);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match exponent {
        -4..=15 if exponent < digits as i32 || x.fract() == 0.0 => {
            let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
            trimmed(&format!("{x:.decimals$}")).to_string()
        }
        _ => format!("{}e{exponent}", trimmed(mantissa)),
    }
}

fn trimmed(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_count() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (0.98234, "0.9823"),
            (-3.1, "-3.1"),
            (12345.0, "12345"),
            (12345.6, "1.235e4"),
            (999.96, "1000"),
            (0.00012344, "0.0001234"),
            (0.0000123, "1.23e-5"),
            (1e300, "1e300"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (x, text) in cases {
            assert_eq!(short(x), text);
        }
    }
}
