//! Checksums of files of data, by which a run that goes on knows its data again.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use fluvial_tensor::Result;

use super::{io, resolve};

/// Up to so many bytes all of a file is read, and beyond it as many in blocks that are spread evenly over it.
const WHOLE: u64 = 1 << 30;
/// The length of such a block.
const BLOCK: u64 = 1 << 20;

/// The length and a checksum of a file, or of all files in a folder and below it, with their names. Of the contents
/// beyond a gigabyte only evenly spread blocks are read, so that large data does not keep a run waiting.
pub fn checksum(path: &str) -> Result<(u64, u32)> {
    sum_of(&resolve(path)?, WHOLE, BLOCK).map_err(|error| io(path, error))
}

fn sum_of(path: &Path, whole: u64, block: u64) -> std::io::Result<(u64, u32)> {
    let mut sum = crc32fast::Hasher::new();
    if !path.is_dir() {
        let len = add_file(path, &mut sum, whole, block)?;
        return Ok((len, sum.finalize()));
    }
    let mut files = Vec::new();
    list(path, &mut files, 0)?;
    files.sort();
    let total: u64 = files.iter().map(|(_, len)| len).sum();
    // So many files are passed by for each that is read.
    let stride = total / whole.max(1) + 1;
    for (number, (file, len)) in (0u64..).zip(&files) {
        let name = file.strip_prefix(path).unwrap_or(file);
        sum.update(name.as_os_str().as_encoded_bytes());
        sum.update(&len.to_le_bytes());
        if number % stride == 0 {
            add_file(file, &mut sum, whole, block)?;
        }
    }
    Ok((total, sum.finalize()))
}

/// The files in a folder and below it, with their lengths.
fn list(folder: &Path, found: &mut Vec<(PathBuf, u64)>, depth: usize) -> std::io::Result<()> {
    // Links may lead round in a circle.
    const MAX_DEPTH: usize = 32;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let about = fs::metadata(&path)?;
        match about.is_dir() {
            true if depth < MAX_DEPTH => list(&path, found, depth + 1)?,
            true => {}
            false => found.push((path, about.len())),
        }
    }
    Ok(())
}

fn add_file(
    path: &Path,
    sum: &mut crc32fast::Hasher,
    whole: u64,
    block: u64,
) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    if len <= whole {
        add(&mut file, sum)?;
        return Ok(len);
    }
    let n_blocks = (whole / block).max(2);
    for number in 0..n_blocks {
        // The last one ends where the file does.
        let at = (len - block) as u128 * u128::from(number) / u128::from(n_blocks - 1);
        file.seek(SeekFrom::Start(at as u64))?;
        add(&mut (&mut file).take(block), sum)?;
    }
    Ok(len)
}

fn add(from: &mut dyn Read, sum: &mut crc32fast::Hasher) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            n => sum.update(&buffer[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_told_apart() {
        let folder = std::env::temp_dir().join(format!("fluvial-sums-{}", std::process::id()));
        fs::create_dir_all(folder.join("a")).unwrap();
        let path = folder.join("a/1");
        let write = |bytes: &[u8]| fs::write(&path, bytes).unwrap();
        let bytes: Vec<u8> = (0..=255).collect();
        write(&bytes);
        let (file, all) = (sum_of(&path, 1 << 20, 16), sum_of(&folder, 1 << 20, 16));
        let (file, all) = (file.unwrap(), all.unwrap());
        assert_eq!((file.0, all.0), (256, 256));
        assert_eq!(file.1, crc32fast::hash(&bytes));
        // Spread blocks find what is at both ends.
        let spread = sum_of(&path, 64, 16).unwrap();
        for at in [0, 255] {
            let mut other = bytes.clone();
            other[at] ^= 1;
            write(&other);
            assert_ne!(sum_of(&path, 1 << 20, 16).unwrap(), file);
            assert_ne!(sum_of(&folder, 1 << 20, 16).unwrap(), all);
            assert_ne!(sum_of(&path, 64, 16).unwrap(), spread);
        }
        write(&bytes);
        fs::rename(&path, folder.join("a/2")).unwrap();
        assert_ne!(sum_of(&folder, 1 << 20, 16).unwrap(), all);
        fs::remove_dir_all(&folder).unwrap();
    }
}
