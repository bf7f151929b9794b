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

/// Makes the checksum of a program in binary form right.
pub fn repair_program(bytes: &mut [u8]) {
    let Some(end) = bytes.len().checked_sub(5) else { return };
    if bytes[end] == 0x5d {
        let crc = crc32fast::hash(&bytes[..end]).to_le_bytes();
        bytes[end + 1..].copy_from_slice(&crc);
    }
}

/// Makes the checksums of a `.safetensors` file that has them right: those of tensors, then that of the header.
pub fn repair_safetensors(bytes: &mut [u8]) {
    const START: &[u8] = b"{\"__metadata__\":{\"fluvial.checksum\":\"crc32 ";
    const OFFSETS: &[u8] = b"\"data_offsets\":[";
    let Some(len) = bytes.first_chunk::<8>().map(|len| u64::from_le_bytes(*len)) else { return };
    let Some(end) = usize::try_from(len).ok().and_then(|len| len.checked_add(8)) else { return };
    if end > bytes.len() || !bytes[8..].starts_with(START) {
        return;
    }
    let (head, contents) = bytes.split_at_mut(end);
    let number = |at: &[u8]| -> Option<usize> {
        let digits = at.iter().take_while(|byte| byte.is_ascii_digit()).count();
        str::from_utf8(&at[..digits]).ok()?.parse().ok()
    };
    let mut put = 8 + START.len();
    let place = put;
    for at in place..end {
        let Some(rest) = head[at..].strip_prefix(OFFSETS) else { continue };
        let comma = rest.iter().position(|&byte| byte == b',').map_or(0, |comma| comma + 1);
        let range = number(rest).zip(number(&rest[comma..]));
        put += 9;
        let Some(contents) = range.and_then(|(a, b)| contents.get(a..b)) else { continue };
        let digits = format!("{:08x}", crc32fast::hash(contents));
        if put + 8 <= end && head[put - 1] == b' ' {
            head[put..put + 8].copy_from_slice(digits.as_bytes());
        }
    }
    if place + 8 <= end {
        head[place..place + 8].fill(b'0');
        let digits = format!("{:08x}", crc32fast::hash(&head[8..]));
        head[place..place + 8].copy_from_slice(digits.as_bytes());
    }
}

/// Makes the checksums of a recording right: those in its sections, then those of them.
pub fn repair_recording(bytes: &mut [u8]) {
    let mut at = 8;
    while let Some(name_len) = u32_at(bytes, at) {
        let Some(head) = at.checked_add(name_len).and_then(|end| end.checked_add(16)) else {
            return;
        };
        let Some(len) = bytes.get(head - 12..).and_then(|rest| rest.first_chunk::<8>()) else {
            return;
        };
        let len = usize::try_from(u64::from_le_bytes(*len)).ok();
        let Some(end) = len.and_then(|len| len.checked_add(head)) else { return };
        let is_program = bytes[at + 4..].starts_with(b"program");
        let Some(contents) = bytes.get_mut(head..end) else { return };
        match is_program {
            true => repair_program(contents),
            false => repair_safetensors(contents),
        }
        let crc = crc32fast::hash(contents).to_le_bytes();
        bytes[head - 4..head].copy_from_slice(&crc);
        at = end;
    }
}
