//! Checksums that are right again after a change, so that what lies behind them is read. Shared with fuzzers.
#![allow(dead_code)]

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?) as usize)
}

/// Makes the checksums of a record file right.
pub fn repair_records(bytes: &mut [u8]) {
    if let Some(schema) =
        u32_at(bytes, 12).and_then(|len| bytes.get(20..20_usize.checked_add(len)?))
    {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&bytes[..16]);
        hasher.update(schema);
        let crc = hasher.finalize().to_le_bytes();
        bytes[16..20].copy_from_slice(&crc);
    }
    for at in 0..bytes.len().saturating_sub(43) {
        if bytes[at..at + 4] != *b"FLCH" {
            continue;
        }
        let stored = u64::from_le_bytes(bytes[at + 24..at + 32].try_into().unwrap());
        let end = usize::try_from(stored).ok().and_then(|stored| stored.checked_add(at + 44));
        if let Some(payload) = end.and_then(|end| bytes.get(at + 44..end)) {
            let crc = crc32fast::hash(payload).to_le_bytes();
            bytes[at + 12..at + 16].copy_from_slice(&crc);
        }
        let crc = crc32fast::hash(&bytes[at..at + 40]).to_le_bytes();
        bytes[at + 40..at + 44].copy_from_slice(&crc);
    }
    if let Some(end) = bytes.len().checked_sub(16) {
        let crc = crc32fast::hash(&bytes[end..end + 8]).to_le_bytes();
        bytes[end + 8..end + 12].copy_from_slice(&crc);
    }
}

/// Makes the checksums of Fluid's chunks right, in the dialect that is given.
pub fn repair_recordio(bytes: &mut [u8], crc_at: usize, size_at: usize) {
    let mut at = 0;
    while let Some(size) = u32_at(bytes, at + size_at) {
        let Some(payload) = bytes.get(at + 20..at + 20 + size) else { return };
        let crc = crc32fast::hash(payload).to_le_bytes();
        bytes[at + crc_at..at + crc_at + 4].copy_from_slice(&crc);
        at += 20 + size;
    }
}

/// Makes the checksums of a PNG file's chunks right.
pub fn repair_png(bytes: &mut [u8]) {
    let mut at = 8;
    while let Some(len) = bytes.get(at..at + 4) {
        let len = u32::from_be_bytes(len.try_into().unwrap()) as usize;
        if bytes.starts_with(&[0xff, 0xd8]) || bytes.len() < at + len + 12 {
            return;
        }
        let crc = crc32fast::hash(&bytes[at + 4..at + 8 + len]).to_be_bytes();
        bytes[at + 8 + len..at + 12 + len].copy_from_slice(&crc);
        at += len + 12;
    }
}
