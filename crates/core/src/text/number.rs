//! Numbers as text: the fewest digits that give the same bits back.

use fluvial_tensor::{DType, Element, bf16, f8e4m3, f8e5m2, f16};

/// The NaN that is written without its bits, by dtype.
fn plain_nan(dtype: DType) -> u64 {
    match dtype {
        DType::F8E4M3 | DType::F8E5M2 => 0x7f,
        DType::F16 => 0x7e00,
        DType::BF16 => 0x7fc0,
        DType::F32 => 0x7fc0_0000,
        _ => 0x7ff8_0000_0000_0000,
    }
}

/// An attribute that is a float.
pub(super) fn f64_text(value: f64) -> String {
    float_text(DType::F64, value, value.to_bits(), || format!("{value:?}"))
}

/// The float of dtype `dtype` with these bits; `digits` writes a finite one.
fn float_text(dtype: DType, value: f64, bits: u64, digits: impl Fn() -> String) -> String {
    if value.is_nan() && bits == plain_nan(dtype) {
        "nan".to_string()
    } else if value.is_nan() {
        format!("nan({bits:#x})")
    } else if value.is_infinite() {
        (if value > 0.0 { "inf" } else { "-inf" }).to_string()
    } else {
        digits()
    }
}

/// The element with these little-endian bytes; of a complex number both parts.
pub(super) fn element_text(dtype: DType, bytes: &[u8]) -> String {
    if dtype.is_complex() {
        let (real, imaginary) = bytes.split_at(bytes.len() / 2);
        let part = |bytes| element_text(dtype.real(), bytes);
        return format!("{} {}", part(real), part(imaginary));
    }
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(word);
    match dtype {
        DType::Bool => (bits != 0).to_string(),
        dtype if dtype.is_int() => {
            // The sign is that of the last byte.
            let unused = 64 - 8 * bytes.len() as u32;
            match dtype.is_signed() {
                true => ((bits << unused) as i64 >> unused).to_string(),
                false => bits.to_string(),
            }
        }
        DType::F8E4M3 => half_text::<f8e4m3>(f8e4m3::from_bits(bits as u8), bits),
        DType::F8E5M2 => half_text::<f8e5m2>(f8e5m2::from_bits(bits as u8), bits),
        DType::F16 => half_text::<f16>(f16::from_bits(bits as u16), bits),
        DType::BF16 => half_text::<bf16>(bf16::from_bits(bits as u16), bits),
        DType::F32 => {
            let value = f32::from_bits(bits as u32);
            float_text(dtype, f64::from(value), bits, || format!("{value:?}"))
        }
        _ => f64_text(f64::from_bits(bits)),
    }
}

fn half_text<T: Element>(half: T, bits: u64) -> String {
    let value = half.to_f64();
    float_text(T::DTYPE, value, bits, || {
        // Half floats need five digits at most: try fewer.
        let rounded = (0..5).filter_map(|n| format!("{value:.n$e}").parse::<f64>().ok());
        let short = rounded.into_iter().find(|&short| {
            T::from_f64(short) == half && short.is_sign_negative() == value.is_sign_negative()
        });
        format!("{:?}", short.unwrap_or(value))
    })
}

/// The little-endian bytes of an element written as `text`, if it is one of the dtype, which is not complex.
pub(super) fn element_bytes(dtype: DType, text: &str) -> Option<[u8; 8]> {
    let bits = match dtype {
        DType::Bool => text.parse::<bool>().ok()? as u64,
        DType::F8E4M3 => {
            parse_narrow(text, |x| Some(<f8e4m3 as Element>::from_f64(x)))?.to_bits().into()
        }
        DType::F8E5M2 => {
            parse_narrow(text, |x| Some(<f8e5m2 as Element>::from_f64(x)))?.to_bits().into()
        }
        DType::F16 => parse_narrow(text, |x| Some(<f16 as Element>::from_f64(x)))?.to_bits().into(),
        DType::BF16 => {
            parse_narrow(text, |x| Some(<bf16 as Element>::from_f64(x)))?.to_bits().into()
        }
        DType::F32 => parse_narrow(text, |_| text.parse::<f32>().ok())?.to_bits().into(),
        DType::F64 => parse_float(text)?.to_bits(),
        _ => {
            let (least, most) = dtype.range()?;
            let number = text.parse::<i128>().ok()?;
            let signed = dtype.is_signed() || !text.starts_with('-');
            (signed && (least..=most).contains(&number)).then_some(number as u64)?
        }
    };
    Some(bits.to_le_bytes())
}

/// The little-endian bytes of a NaN: the plain one, or the one with these bits.
pub(super) fn nan_bytes(dtype: DType, bits: Option<&str>) -> Option<[u8; 8]> {
    if !dtype.is_float() {
        return None;
    }
    let bits = match bits {
        None => plain_nan(dtype),
        Some(text) => u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?,
    };
    let is_nan = match dtype {
        DType::F8E4M3 => f8e4m3::from_bits(u8::try_from(bits).ok()?).is_nan(),
        DType::F8E5M2 => f8e5m2::from_bits(u8::try_from(bits).ok()?).is_nan(),
        DType::F16 => f16::from_bits(u16::try_from(bits).ok()?).is_nan(),
        DType::BF16 => bf16::from_bits(u16::try_from(bits).ok()?).is_nan(),
        DType::F32 => f32::from_bits(u32::try_from(bits).ok()?).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    };
    is_nan.then(|| bits.to_le_bytes())
}

/// A float other than NaN. A finite number that overflows is not one.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    match text {
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ if !text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) => None,
        _ => text.parse().ok().filter(|value: &f64| value.is_finite()),
    }
}

/// The same for a narrower dtype.
fn parse_narrow<T: Element>(text: &str, narrow: impl Fn(f64) -> Option<T>) -> Option<T> {
    let value = parse_float(text)?;
    narrow(value).filter(|element| element.to_f64().is_finite() == value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(dtype: DType, bits: u64) {
        let bytes = &bits.to_le_bytes()[..dtype.size()];
        let text = element_text(dtype, bytes);
        let read = match text.strip_prefix("nan(").and_then(|rest| rest.strip_suffix(')')) {
            Some(bits) => nan_bytes(dtype, Some(bits)),
            None if text == "nan" => nan_bytes(dtype, None),
            None => element_bytes(dtype, &text),
        };
        let read = read.map(|bytes| u64::from_le_bytes(bytes) & mask(dtype));
        assert_eq!(read, Some(bits), "{dtype} {bits:#x} is written {text}");
    }

    fn mask(dtype: DType) -> u64 {
        u64::MAX >> (64 - 8 * dtype.size())
    }

    #[test]
    fn every_small_element_comes_back() {
        for bits in 0..=0xffff {
            round_trip(DType::F16, bits);
            round_trip(DType::BF16, bits);
            round_trip(DType::I16, bits);
            round_trip(DType::U16, bits);
        }
        for bits in 0..=0xff {
            round_trip(DType::U8, bits);
            round_trip(DType::I8, bits);
            round_trip(DType::F8E4M3, bits);
            round_trip(DType::F8E5M2, bits);
        }
        round_trip(DType::Bool, 0);
        round_trip(DType::Bool, 1);
    }

    #[test]
    fn many_wide_elements_come_back() {
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            for dtype in [DType::I32, DType::U32, DType::I64, DType::U64, DType::F32, DType::F64] {
                round_trip(dtype, bits & mask(dtype));
                round_trip(dtype, (bits >> 32) & mask(dtype));
            }
        }
        for bits in [0, 1, 1 << 63, 0x7ff0 << 48, 0xfff0 << 48, 0x7ff0 << 48 | 1, u64::MAX] {
            round_trip(DType::F64, bits);
        }
    }

    #[test]
    fn short_numbers_are_written_short() {
        let half = |x: f64| element_text(DType::F16, &<f16 as Element>::from_f64(x).to_le_bytes());
        let brain =
            |x: f64| element_text(DType::BF16, &<bf16 as Element>::from_f64(x).to_le_bytes());
        assert_eq!([half(0.1), half(-0.0), half(65504.0)], ["0.1", "-0.0", "65500.0"]);
        assert_eq!([brain(0.3), brain(1e30), brain(f64::NAN)], ["0.3", "1e30", "nan"]);
        assert_eq!(element_text(DType::F32, &0.1f32.to_le_bytes()), "0.1");
    }

    #[test]
    fn what_is_no_element_is_refused() {
        for (dtype, text) in [
            (DType::U8, "256"),
            (DType::U8, "-1"),
            (DType::I16, "32768"),
            (DType::U64, "18446744073709551616"),
            (DType::I64, "1.0"),
            (DType::Bool, "1"),
            (DType::F64, "1e999"),
            (DType::F64, "infinity"),
            (DType::F32, "-nan"),
            (DType::F32, "1e39"),
            (DType::F64, "--1"),
        ] {
            assert_eq!(element_bytes(dtype, text), None, "{dtype} {text}");
        }
        for (dtype, bits) in
            [(DType::F32, "0x7f800000"), (DType::F16, "0x17e00"), (DType::F64, "7")]
        {
            assert_eq!(nan_bytes(dtype, Some(bits)), None, "{dtype} {bits}");
        }
        assert_eq!(nan_bytes(DType::I32, None), None);
    }
}
