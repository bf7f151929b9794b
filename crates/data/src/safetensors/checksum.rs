//! Checksums of what a `.safetensors` file has, so that damage is noticed before anything is made of it.
//!
//! A note says them: `crc32 HEADER TENSOR TENSOR …`, in hexadecimal. The first one is that of the header, with zeros in
//! its own place; the others are those of the tensors, in the order of the header. A second note says that there are
//! checksums, so that one damaged letter does not make a file look like one without. Other readers overlook both.

use super::{Contents, broken};
use crate::elements::{self, Summing};
use crate::files::fault;
use fluvial_tensor::{Error, Result, Tensor};

/// The note with the checksums.
const SUMS: &str = "fluvial.checksum";
/// The note that says that they are there.
const MARK: &str = "fluvial.checked";
/// What the note and every header that has it begin with. The checksum of the header follows.
const KIND: &str = "crc32 ";
const START: &str = "{\"__metadata__\":{\"fluvial.checksum\":\"crc32 ";
/// How many digits a checksum has.
const DIGITS: usize = 8;

/// Whether a note is one of these, and not the caller's.
pub(super) fn is_own(note: &str) -> bool {
    note == SUMS || note == MARK
}

/// The notes for these tensors, as JSON; they must be the first in the header.
pub(super) fn notes(tensors: &[(&str, &Tensor)], path: &str) -> Result<String> {
    let mut text = format!("\"{SUMS}\":\"{KIND}{}", "0".repeat(DIGITS));
    for (_, x) in tensors {
        let mut sum = Summing::default();
        elements::write(&mut sum, x, path)?;
        text += &format!(" {:08x}", sum.0.finalize());
    }
    Ok(text + &format!("\",\"{MARK}\":\"crc32\""))
}

/// Puts the checksum of a header that has the notes into its place.
pub(super) fn seal(header: &mut String) {
    let sum = crc32fast::hash(header.as_bytes());
    header.replace_range(START.len()..START.len() + DIGITS, &format!("{sum:08x}"));
}

/// Takes the checksums out of the notes: gives each tensor its own, and verifies the header. A file without them
/// is as it is.
pub(super) fn open(header: &str, contents: &mut Contents, path: &str) -> Result<()> {
    let find = |name: &str| contents.notes.iter().find(|(known, _)| known == name);
    if find(SUMS).is_none() && find(MARK).is_none() {
        return Ok(());
    }
    let damaged = || damaged(path, "its header");
    let sums = find(SUMS).and_then(|(_, text)| text.strip_prefix(KIND)).ok_or_else(damaged)?;
    let sums = sums.split(' ').map(parsed).collect::<Option<Vec<u32>>>().ok_or_else(damaged)?;
    let place = START.len()..START.len() + DIGITS;
    if !header.starts_with(START) || !header.is_char_boundary(place.end) {
        return Err(damaged());
    }
    let mut bare = header.to_string();
    bare.replace_range(place, &"0".repeat(DIGITS));
    let (Some((&of_header, sums)), n_tensors) = (sums.split_first(), contents.entries.len()) else {
        return Err(damaged());
    };
    if crc32fast::hash(bare.as_bytes()) != of_header || sums.len() != n_tensors {
        return Err(damaged());
    }
    for (entry, &sum) in contents.entries.iter_mut().zip(sums) {
        entry.sum = Some(sum);
    }
    contents.is_checked = true;
    contents.notes.retain(|(name, _)| !is_own(name));
    Ok(())
}

/// A checksum as it is written, and in no other way.
fn parsed(digits: &str) -> Option<u32> {
    let sum = u32::from_str_radix(digits, 16).ok()?;
    (digits == format!("{sum:08x}")).then_some(sum)
}

/// Refuses bytes that are not those that were written.
pub(super) fn verify(found: u32, expected: Option<u32>, name: &str, path: &str) -> Result<()> {
    match expected.is_none_or(|expected| expected == found) {
        true => Ok(()),
        false => Err(damaged(path, &format!("the tensor `{name}`"))),
    }
}

/// Refuses a file with checksums that has bytes which belong to no tensor.
pub(super) fn whole(contents_end: u64, left: u64, path: &str) -> Result<()> {
    match contents_end == left {
        true => Ok(()),
        false => Err(broken(path, "it is longer or shorter than its tensors")),
    }
}

fn damaged(path: &str, what: &str) -> Error {
    fault(format!("`{path}` is damaged: {what} is not what was written, by its checksum")).remedy(
        "take a copy that is whole; if another program has changed the file on purpose, let it leave out the note `fluvial.checksum`",
    )
}
