//! Payloads as they are compressed.

use std::io::Read;

/// How a payload is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    /// In the blocks that C++ Fluid writes.
    SnappyBlocks,
    /// In snappy's own framing format.
    SnappyFrames,
    Gzip,
}

impl Packing {
    pub fn of(number: u32, go: bool) -> Option<Packing> {
        match number {
            0 => Some(Packing::None),
            1 if go => Some(Packing::SnappyFrames),
            1 => Some(Packing::SnappyBlocks),
            2 => Some(Packing::Gzip),
            _ => None,
        }
    }

    /// The most that so many bytes can stand for.
    pub fn largest(self, stored: u64) -> u64 {
        match self {
            Packing::None => stored,
            Packing::SnappyBlocks | Packing::SnappyFrames => stored * 32 + 64,
            Packing::Gzip => stored * 1032 + 64,
        }
    }
}

/// The payload; the error says what is wrong with it.
pub(super) fn unpack(stored: Vec<u8>, packing: Packing) -> Result<Vec<u8>, String> {
    let largest = packing.largest(stored.len() as u64);
    match packing {
        Packing::None => Ok(stored),
        Packing::SnappyBlocks => blocks(&stored),
        Packing::SnappyFrames => read(snap::read::FrameDecoder::new(&stored[..]), largest),
        Packing::Gzip => read(flate2::read::MultiGzDecoder::new(&stored[..]), largest),
    }
}

fn read(from: impl Read, largest: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    from.take(largest + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() as u64 <= largest {
        true => Ok(bytes),
        false => Err(format!("it grows beyond {largest} bytes")),
    }
}

const START: &[u8] = b"snappy\0";
/// The largest block that its 16 bits of length can stand for.
const MAX_BLOCK: usize = 1 << 16;

/// Blocks of a flag, a length, a checksum of what the block stands for, and the block.
fn blocks(stored: &[u8]) -> Result<Vec<u8>, String> {
    let mut left = stored.strip_prefix(START).ok_or("it does not start with `snappy`")?;
    let mut bytes = Vec::new();
    while !left.is_empty() {
        let at = stored.len() - left.len();
        let wrong = |what: &str| format!("byte {at} of the payload: {what}");
        let (head, rest) =
            left.split_first_chunk::<7>().ok_or_else(|| wrong("a block is cut off"))?;
        let len = usize::from(u16::from_be_bytes([head[1], head[2]]));
        let crc = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
        let (block, rest) =
            rest.split_at_checked(len).ok_or_else(|| wrong("a block is cut off"))?;
        let before = bytes.len();
        match head[0] {
            0 => bytes.extend_from_slice(block),
            1 => {
                let raw =
                    snap::raw::decompress_len(block).map_err(|error| wrong(&error.to_string()))?;
                if raw > MAX_BLOCK {
                    return Err(wrong("a block of more than 64 KiB"));
                }
                bytes.resize(before + raw, 0);
                snap::raw::Decoder::new()
                    .decompress(block, &mut bytes[before..])
                    .map_err(|error| wrong(&error.to_string()))?;
            }
            _ => return Err(wrong("the flag of a block is neither 0 nor 1")),
        }
        if masked_crc32c(&bytes[before..]) != crc {
            return Err(wrong("the checksum of a block is wrong"));
        }
        left = rest;
    }
    Ok(bytes)
}

const CRC32C: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let (mut crc, mut bit) = (i as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

/// The checksum that snappy's framings use.
fn masked_crc32c(bytes: &[u8]) -> u32 {
    let step =
        |crc: u32, &byte: &u8| (crc >> 8) ^ CRC32C[((crc ^ u32::from(byte)) & 0xff) as usize];
    let crc = !bytes.iter().fold(!0, step);
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_the_known_one() {
        let crc = super::masked_crc32c(b"123456789").wrapping_sub(0xa282_ead8).rotate_left(15);
        assert_eq!(crc, 0xe306_9283);
    }
}
