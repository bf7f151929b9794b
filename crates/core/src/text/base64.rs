//! Bytes as text: base64 with the standard alphabet and padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = (bits >> (18 - 6 * i) & 63) as usize;
            text.push(if i <= chunk.len() { ALPHABET[digit] as char } else { '=' });
        }
    }
    text
}

/// The bytes; nothing if the text is not what [`encode`] writes.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let digits = text.trim_end_matches('=');
    let n_padding = text.len() - digits.len();
    for chunk in digits.as_bytes().chunks(4) {
        let mut bits = 0;
        for i in 0..4 {
            bits = bits << 6 | chunk.get(i).map_or(Some(0), |&c| digit(c))?;
        }
        let all = bits.to_be_bytes();
        let n_bytes = (chunk.len() * 6) / 8;
        if all[1 + n_bytes..].iter().any(|&rest| rest != 0) {
            return None;
        }
        bytes.extend_from_slice(&all[1..1 + n_bytes]);
    }
    // One digit alone holds no byte, so more than two signs of padding are never right.
    (n_padding <= 2 && digits.len() % 4 != 1).then_some(bytes)
}

fn digit(c: u8) -> Option<u32> {
    Some(u32::from(match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_length_come_back() {
        let bytes: Vec<u8> = (0..=255).chain(0..=255).map(|b: u8| b.wrapping_mul(37)).collect();
        for n in 0..bytes.len() {
            assert_eq!(decode(&encode(&bytes[..n])).as_deref(), Some(&bytes[..n]));
        }
        assert_eq!(encode(b"fluvial"), "Zmx1dmlhbA==");
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["A", "AA", "AAA", "A===", "====", "AB==", "AAB=", "AA=A", "A\u{e9}A", "AA-A"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
