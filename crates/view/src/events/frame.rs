//! Records: a length, its checksum, the payload, its checksum.

/// The bytes before a payload: its length and a checksum.
pub const HEAD: usize = 12;

/// The bytes after it.
pub const FOOT: usize = 4;

/// A longer record is a damaged one.
pub const LONGEST: u64 = 1 << 30;

/// The record of a payload.
pub fn record(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(HEAD + payload.len() + FOOT);
    record.extend(length);
    record.extend(masked(&length).to_le_bytes());
    record.extend(payload);
    record.extend(masked(payload).to_le_bytes());
    record
}

/// The checksum as records have it.
pub fn masked(data: &[u8]) -> u32 {
    crc32c(data).rotate_right(15).wrapping_add(0xA282_EAD8)
}

/// The polynomial of Castagnoli, its bits in reverse.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// By number of bytes that follow and by byte: what the byte does to the checksum.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut state, mut bit) = (byte as u32, 0);
        while bit < 8 {
            state = state >> 1 ^ if state & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        tables[0][byte] = state;
        byte += 1;
    }
    let mut after = 1;
    while after < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[after - 1][byte];
            tables[after][byte] = before >> 8 ^ tables[0][(before & 255) as usize];
            byte += 1;
        }
        after += 1;
    }
    tables
}

/// The checksum of Castagnoli.
///
/// ```
/// assert_eq!(fluvial_view::events::crc32c(b"123456789"), 0xe306_9283);
/// ```
pub fn crc32c(data: &[u8]) -> u32 {
    let mut state = !0u32;
    let (words, rest) = data.as_chunks::<8>();
    for word in words {
        let mixed = (u64::from_le_bytes(*word) ^ u64::from(state)).to_le_bytes();
        state = (0..8).fold(0, |sum, i| sum ^ TABLES[7 - i][usize::from(mixed[i])]);
    }
    for &byte in rest {
        state = TABLES[0][usize::from(state as u8 ^ byte)] ^ state >> 8;
    }
    !state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_of_all_lengths() {
        let slow = |data: &[u8]| {
            !data.iter().fold(!0u32, |state, byte| {
                (0..8).fold(state ^ u32::from(*byte), |state, _| {
                    state >> 1 ^ if state & 1 == 1 { POLYNOMIAL } else { 0 }
                })
            })
        };
        let data: Vec<u8> = (0..100u32).map(|i| (i * i * 7 + 3) as u8).collect();
        for end in 0..data.len() {
            assert_eq!(crc32c(&data[..end]), slow(&data[..end]), "{end}");
        }
    }
}
