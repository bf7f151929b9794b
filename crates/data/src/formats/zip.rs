//! Archives: what `.npz` files need of zip.

use std::io::Read;

use super::Input;
use super::input::{u32_at, u64_at};
use fluvial_tensor::{Error, ErrorKind, Result};

const END: [u8; 4] = *b"PK\x05\x06";
const END64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR64: [u8; 4] = *b"PK\x06\x07";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// At least so many bytes stand before the contents of a file.
const LOCAL_HEAD: u64 = 30;
/// A file in an archive takes at least so many bytes of the directory.
const MIN_ENTRY: usize = 46;

/// A file in an archive.
#[derive(Debug)]
pub(crate) struct Entry {
    pub name: String,
    pub is_compressed: bool,
    crc: u32,
    stored: u64,
    pub len: u64,
    at: u64,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

/// The files of an archive.
pub(crate) fn entries(input: &Input) -> Result<Vec<Entry>> {
    let broken = |what: &str| input.fault(format!("this is not a zip archive: {what}"));
    let (at, len) = directory(input)?.ok_or_else(|| broken("its end is not that of one"))?;
    if at.checked_add(len).is_none_or(|end| end > input.len()) {
        return Err(broken(&format!("a directory of {len} bytes is expected at byte {at}")));
    }
    let bytes = input.take(at, len)?;
    let mut left = &bytes[..];
    let mut found = Vec::new();
    while !left.is_empty() {
        let place = at + (bytes.len() - left.len()) as u64;
        let wrong = |what: &str| input.fault(format!("byte {place}, in the directory: {what}"));
        let (entry, rest) = entry(left).ok_or_else(|| wrong("an entry is not understood"))?;
        let largest = match entry.is_compressed {
            true => entry.stored.saturating_mul(1032).saturating_add(64),
            false => entry.stored,
        };
        if entry.stored > input.len() || entry.len > largest {
            let what = format!("`{}` claims {} bytes in {}", entry.name, entry.len, entry.stored);
            return Err(wrong(&what));
        }
        found.push(entry);
        left = rest;
    }
    refuse_overlaps(input, &found)?;
    Ok(found)
}

/// Files that share bytes could be larger together than the archive explains.
fn refuse_overlaps(input: &Input, entries: &[Entry]) -> Result<()> {
    let mut in_order: Vec<&Entry> = entries.iter().collect();
    in_order.sort_by_key(|entry| (entry.at, entry.stored));
    let mut end = 0u64;
    for entry in in_order {
        if entry.at < end {
            return Err(entry.wrong(input, "it overlaps another file of the archive"));
        }
        end = entry.at.saturating_add(LOCAL_HEAD).saturating_add(entry.stored);
    }
    Ok(())
}

/// Place and length of the directory, from the end of the file.
fn directory(input: &Input) -> Result<Option<(u64, u64)>> {
    let count = input.len().min(22 + 0xffff);
    let start = input.len() - count;
    let tail = input.take(start, count)?;
    let Some(end) = tail.windows(22).rposition(|window| window[..4] == END) else {
        return Ok(None);
    };
    let fields = u32_at(&tail, end + 16).zip(u32_at(&tail, end + 12));
    let Some((at, len)) = fields else { return Ok(None) };
    if at != u32::MAX && len != u32::MAX {
        return Ok(Some((u64::from(at), u64::from(len))));
    }
    // Archives beyond 4 GiB have a second end, which a locator before the first one points to.
    let Some(locator) = end.checked_sub(20).map(|at| &tail[at..end]) else { return Ok(None) };
    let Some(place) = u64_at(locator, 8).filter(|_| locator[..4] == LOCATOR64) else {
        return Ok(None);
    };
    let Ok(end) = input.take(place, 56) else { return Ok(None) };
    match end[..4] == END64 {
        true => Ok(u64_at(&end, 48).zip(u64_at(&end, 40))),
        false => Ok(None),
    }
}

fn entry(bytes: &[u8]) -> Option<(Entry, &[u8])> {
    let head = bytes.get(..MIN_ENTRY).filter(|head| head[..4] == CENTRAL)?;
    let is_compressed = match u16_at(head, 10)? {
        0 => false,
        8 => true,
        _ => return None,
    };
    let is_encrypted = u16_at(head, 8)? & 1 == 1;
    let lens = [u16_at(head, 28)?, u16_at(head, 30)?, u16_at(head, 32)?].map(usize::from);
    let (name, rest) = bytes[MIN_ENTRY..].split_at_checked(lens[0])?;
    let (mut extra, rest) = rest.split_at_checked(lens[1])?;
    let (_, rest) = rest.split_at_checked(lens[2])?;
    let mut numbers = [u32_at(head, 24)?, u32_at(head, 20)?, u32_at(head, 42)?].map(u64::from);
    while let (Some(kind), Some(len)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let (data, after) = extra[4..].split_at_checked(usize::from(len))?;
        if kind == 1 {
            let mut values = data.chunks_exact(8).filter_map(|value| u64_at(value, 0));
            for number in numbers.iter_mut().filter(|number| **number == u64::from(u32::MAX)) {
                *number = values.next()?;
            }
        }
        extra = after;
    }
    let [len, stored, at] = numbers;
    let name = String::from_utf8(name.to_vec()).ok()?;
    let entry = Entry { name, is_compressed, crc: u32_at(head, 16)?, stored, len, at };
    (!is_encrypted).then_some((entry, rest))
}

impl Entry {
    /// Where its bytes are in the archive.
    pub fn start(&self, input: &Input) -> Result<u64> {
        let head = input.take(self.at, 30)?;
        let lens = u16_at(&head, 26).zip(u16_at(&head, 28)).filter(|_| head[..4] == LOCAL);
        let (name, extra) = lens.ok_or_else(|| self.wrong(input, "no file starts there"))?;
        Ok(self.at + 30 + u64::from(name) + u64::from(extra))
    }

    /// What `read` makes of its contents, which come as they are decompressed. Length and checksum are
    /// looked at before anything is given.
    pub fn read<R>(
        &self,
        input: &Input,
        read: impl FnOnce(&mut dyn Read) -> Result<R>,
    ) -> Result<R> {
        let stored = input.from(self.start(input)?).take(self.stored);
        let mut contents = match self.is_compressed {
            false => Summed::of(Box::new(stored)),
            true => Summed::of(Box::new(flate2::bufread::DeflateDecoder::new(stored))),
        };
        let found = read(&mut contents.by_ref().take(self.len));
        if let Err(error) = &found
            && error.kind() == ErrorKind::Interrupted
        {
            return found;
        }
        // Damage is told as such, whatever was made of it.
        contents.drain(self.len).map_err(|error| self.wrong(input, &error.to_string()))?;
        if contents.len != self.len {
            return Err(self.wrong(input, &format!("it does not have {} bytes", self.len)));
        }
        match contents.sum.finalize() == self.crc {
            true => found,
            false => Err(self.wrong(input, "its checksum is wrong")),
        }
    }

    fn wrong(&self, input: &Input, what: &str) -> Error {
        input.fault(format!("byte {}, in `{}`: {what}", self.at, self.name))
    }
}

/// Counts and sums up what is read of it.
struct Summed<'a> {
    from: Box<dyn Read + 'a>,
    sum: crc32fast::Hasher,
    len: u64,
}

impl<'a> Summed<'a> {
    fn of(from: Box<dyn Read + 'a>) -> Summed<'a> {
        Summed { from, sum: crc32fast::Hasher::new(), len: 0 }
    }

    /// Reads on, up to the end or beyond so many bytes.
    fn drain(&mut self, most: u64) -> std::io::Result<()> {
        let mut part = [0; 1 << 12];
        while self.len <= most && self.read(&mut part)? > 0 {}
        Ok(())
    }
}

impl Read for Summed<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let count = self.from.read(to)?;
        self.sum.update(&to[..count]);
        self.len += count as u64;
        Ok(count)
    }
}

/// Writes an archive, file by file, without compression.
#[derive(Default)]
pub(crate) struct Writer {
    directory: Vec<u8>,
    n_entries: u64,
    at: u64,
}

impl Writer {
    /// The bytes before the contents of a file, which must follow.
    pub fn entry(&mut self, name: &str, contents: &[u8]) -> Vec<u8> {
        let len = contents.len() as u64;
        let (at, crc) = (self.at, crc32fast::hash(contents));
        let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
        // Numbers that need 64 bits stand in an extra field.
        let is_long = len.max(at) >= u64::from(u32::MAX);
        let (len32, at32) = if is_long { ([0xff; 4], [0xff; 4]) } else { (short(len), short(at)) };
        let mut extra = Vec::new();
        if is_long {
            extra.extend_from_slice(&[1, 0, 24, 0]);
            [len, len, at].iter().for_each(|number| extra.extend_from_slice(&number.to_le_bytes()));
        }
        // Version 4.5, names in UTF-8, stored, the first day of 1980.
        let common =
            [&[45, 0, 0, 8, 0, 0, 0, 0, 33, 0], &crc.to_le_bytes()[..], &len32, &len32].concat();
        let name_len = (name.len() as u16).to_le_bytes();
        let extra_len = (extra.len() as u16).to_le_bytes();
        let parts: [&[u8]; 6] = [&LOCAL, &common, &name_len, &extra_len, name.as_bytes(), &extra];
        let local = parts.concat();
        let rest = [0; 10];
        let parts: [&[u8]; 9] = [
            &CENTRAL,
            &[45, 3],
            &common,
            &name_len,
            &extra_len,
            &rest,
            &at32,
            name.as_bytes(),
            &extra,
        ];
        self.directory.extend_from_slice(&parts.concat());
        self.n_entries += 1;
        self.at += local.len() as u64 + len;
        local
    }

    /// The end of the archive.
    pub fn finish(mut self) -> Vec<u8> {
        let (at, len) = (self.at, self.directory.len() as u64);
        let n_short = u16::try_from(self.n_entries).unwrap_or(u16::MAX).to_le_bytes();
        let is_long = at.max(len) >= u64::from(u32::MAX) || self.n_entries >= u64::from(u16::MAX);
        if is_long {
            let n = self.n_entries.to_le_bytes();
            let (len, place) = (len.to_le_bytes(), at.to_le_bytes());
            let version = [45, 3, 45, 0];
            let parts: [&[u8]; 8] =
                [&END64, &44_u64.to_le_bytes(), &version, &[0; 8], &n, &n, &len, &place];
            let end64 = self.at + self.directory.len() as u64;
            self.directory.extend_from_slice(&parts.concat());
            let parts: [&[u8]; 4] = [&LOCATOR64, &[0; 4], &end64.to_le_bytes(), &[1, 0, 0, 0]];
            self.directory.extend_from_slice(&parts.concat());
        }
        let short = |number: u64| if is_long { [0xff; 4] } else { (number as u32).to_le_bytes() };
        let parts: [&[u8]; 7] =
            [&END, &[0; 4], &n_short, &n_short, &short(len), &short(at), &[0, 0]];
        self.directory.extend_from_slice(&parts.concat());
        self.directory
    }
}
