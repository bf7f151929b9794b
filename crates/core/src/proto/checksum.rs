//! The checksum at the end of a program in binary form.

use fluvial_tensor::{Error, Result};

/// The key of the field `checksum`, number 11, of four bytes.
const KEY: u8 = (11 << 3) | 5;

/// The message with its checksum behind it.
pub(super) fn sealed(mut message: Vec<u8>) -> Vec<u8> {
    let sum = crc32fast::hash(&message);
    message.push(KEY);
    message.extend(sum.to_le_bytes());
    message
}

/// Refuses a message that is not as it was written.
pub(super) fn verify(bytes: &[u8]) -> Result<()> {
    let is_whole = bytes.split_last_chunk::<4>().is_some_and(|(rest, sum)| {
        rest.split_last().is_some_and(|(&key, message)| {
            key == KEY && crc32fast::hash(message) == u32::from_le_bytes(*sum)
        })
    });
    match is_whole {
        true => Ok(()),
        false => {
            Err(Error::parse("the program is damaged: it is not what was written, by its checksum")
                .remedy("take a copy that is whole, or build the program again"))
        }
    }
}
