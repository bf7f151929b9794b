//! The secret that a client must know.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;

/// A token that nobody can guess: 32 digits of base 16.
pub fn random_token() -> String {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    if read.is_err() {
        // The keys of hash tables come from the system, too.
        for (i, half) in bytes.chunks_mut(8).enumerate() {
            half.copy_from_slice(&RandomState::new().hash_one(i).to_le_bytes());
        }
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether both are the same, in a time that does not tell where they differ.
pub fn is_same(given: &str, wanted: &str) -> bool {
    let (given, wanted) = (given.as_bytes(), wanted.as_bytes());
    let mut differs = given.len() ^ wanted.len();
    for (i, byte) in wanted.iter().enumerate() {
        differs |= usize::from(byte ^ given.get(i).copied().unwrap_or(0));
    }
    std::hint::black_box(differs) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_compare() {
        let (a, b) = (random_token(), random_token());
        assert_eq!((a.len(), a == b), (32, false));
        assert!(is_same(&a, &a) && !is_same(&a, &b));
        assert!(!is_same("", &a) && !is_same(&a[1..], &a) && !is_same(&format!("{a}0"), &a));
        assert!(is_same("", ""));
    }
}
