//! Readers of files on damaged, random and hostile bytes, with fixed seeds: samples or an error, never a panic,
//! and no more memory than the bytes are worth. `crates/data/fuzz` runs the same for as long as one likes.

mod common;
#[path = "common/exercise.rs"]
mod exercise;
#[path = "common/repair.rs"]
mod repair;

use std::io::Write;

use common::{Folder, Rng, fields, settings, shapes, texts};
use fluvial_data::formats::records::{Compression, Options, Writer};
use fluvial_data::formats::{Input, Setting, Settings, open_inputs};
use fluvial_data::{npy, safetensors};
use fluvial_tensor::{DType, Tensor};
#[cfg(feature = "images")]
use repair::repair_png;
use repair::{repair_recordio, repair_records};

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Numbers that readers like to trust.
const HOSTILE: [u64; 8] =
    [0, 1, 0x7f, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, 0x7fff_ffff_ffff_fff8];

/// Changes a few places: a bit, a byte, a number, a stretch removed, repeated or put in, the end cut off.
fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..1 + rng.below(3) {
        if bytes.is_empty() {
            return;
        }
        let start = rng.below(bytes.len());
        let end = (start + 1 + rng.below(16)).min(bytes.len());
        match rng.below(8) {
            0 => bytes[start] ^= 1 << rng.below(8),
            1 => bytes[start] = rng.next() as u8,
            2 => drop(bytes.drain(start..end)),
            3 => {
                let stretch = bytes[start..end].to_vec();
                let at = rng.below(bytes.len());
                bytes.splice(at..at, stretch);
            }
            4 => bytes.truncate(start),
            5 => {
                let text = HOSTILE[rng.below(HOSTILE.len())].to_string();
                bytes.splice(start..end, text.bytes());
            }
            kind => {
                let number = HOSTILE[rng.below(HOSTILE.len())];
                let len = [1, 2, 4, 8][rng.below(4)].min(bytes.len() - start);
                let number = if kind == 6 {
                    number.to_le_bytes()
                } else {
                    number.swap_bytes().to_le_bytes()
                };
                let from = if kind == 6 { 0 } else { 8 - len };
                bytes[start..start + len].copy_from_slice(&number[from..from + len]);
            }
        }
    }
}

/// The most memory that the process has asked for so far, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Reads each seed, then mutations of it, some of them with checksums put right again.
fn fuzz(seeds: &[Vec<u8>], n: usize, read: impl Fn(&[u8]) -> bool, repair: impl Fn(&mut [u8])) {
    let before = peak();
    for (i, seed) in seeds.iter().enumerate() {
        assert!(read(seed), "seed {i} is not read");
        let mut repaired = seed.clone();
        repair(&mut repaired);
        assert_eq!(repaired, *seed, "seed {i} has other checksums");
        for at in 0..seed.len().min(400) {
            read(&seed[..at]);
        }
    }
    let mut rng = Rng::new(17);
    let mut n_read = 0;
    for _ in 0..n {
        let mut bytes = seeds[rng.below(seeds.len())].clone();
        mutate(&mut rng, &mut bytes);
        if rng.below(4) > 0 {
            repair(&mut bytes);
        }
        n_read += usize::from(read(&bytes));
    }
    assert!(n_read < n, "no mutation was refused");
    assert!(peak() < before + 1500, "{} MiB more", peak() - before);
}

fn no_checksum(_: &mut [u8]) {}

#[test]
fn records() {
    let folder = Folder::new();
    let mut seeds = Vec::new();
    for compression in [Compression::None, Compression::Snappy, Compression::Zstd] {
        for names in
            [&["x: f32[3]", "seen: bool[]"][..], &["a: i64[n]", "text: u8[length]", "b: i8[n, 2]"]]
        {
            let path = folder.path("a.rec");
            let options = Options { compression, chunk_bytes: 150 };
            let mut writer = Writer::create(&path, fields(names), options).unwrap();
            for i in 0..20_usize {
                let sizes: &[&[usize]] = match names.len() {
                    2 => &[&[3], &[]],
                    _ => &[&[i % 3], &[40], &[i % 3, 2]],
                };
                let tensor = |(field, sizes): (&fluvial_data::Field, &&[usize])| {
                    Tensor::zeros(field.ty.dtype(), sizes).unwrap()
                };
                let record: Vec<Tensor> = writer.fields().iter().zip(sizes).map(tensor).collect();
                writer.write(&record.iter().collect::<Vec<_>>()).unwrap();
            }
            writer.finish().unwrap();
            seeds.push(std::fs::read(&path).unwrap());
        }
    }
    let none = Settings::new();
    fuzz(&seeds, 6_000, |bytes| exercise::dataset("records", bytes, &none), repair_records);
}

#[test]
fn recordio_of_fluid() {
    let names = ["cpp_none", "cpp_snappy", "cpp_gzip", "cpp_sequences"];
    let seeds = names.map(|name| golden(&format!("{name}.recordio")));
    let (none, split) = (Settings::new(), settings(&[("split", Setting::Bool(true))]));
    let read = |bytes: &[u8]| {
        exercise::dataset("recordio", bytes, &none) | exercise::dataset("recordio", bytes, &split)
    };
    fuzz(&seeds, 10_000, read, |bytes| repair_recordio(bytes, 8, 16));
}

#[test]
fn recordio_of_go() {
    let names = ["go_none", "go_snappy", "go_gzip", "go_tensors"];
    let seeds = names.map(|name| golden(&format!("{name}.recordio")));
    let none = Settings::new();
    let read = |bytes: &[u8]| exercise::dataset("recordio", bytes, &none);
    fuzz(&seeds, 10_000, read, |bytes| repair_recordio(bytes, 4, 12));
}

#[test]
fn npy_files() {
    let seeds = ["x.npy", "fortran.npy"].map(golden);
    let none = Settings::new();
    let read = |bytes: &[u8]| exercise::one_npy(bytes) & exercise::dataset("npy", bytes, &none);
    fuzz(&seeds, 20_000, read, no_checksum);
}

#[test]
fn npz_files() {
    let seeds = ["plain.npz", "packed.npz"].map(golden);
    let none = Settings::new();
    let read = |bytes: &[u8]| exercise::all_npz(bytes) & exercise::dataset("npz", bytes, &none);
    fuzz(&seeds, 10_000, read, no_checksum);
}

#[test]
fn csv_files() {
    let seeds = [
        &b"age,\"na\"\"me\",score\n3,\"a, b\",0.5\n\n4,\"two\nlines\",\n-5,c,1e3\n"[..],
        b"1,2,3\r\n4,5,6\r\n7,8,9\r\n",
    ]
    .map(<[u8]>::to_vec);
    let all = [
        Settings::new(),
        settings(&[("shape", shapes(&[&[2], &[1]])), ("dtype", texts(&["f16", "u8"]))]),
        settings(&[("dtype", texts(&["text"])), ("header", Setting::Bool(false))]),
    ];
    let read = |bytes: &[u8]| {
        all.iter().fold(false, |any, given| exercise::dataset("csv", bytes, given) | any)
    };
    fuzz(&seeds, 10_000, read, no_checksum);
}

#[test]
fn idx_files_and_lines() {
    let seeds = ["images.idx", "labels.idx.gz", "floats.idx", "shorts.idx"].map(golden);
    let none = Settings::new();
    let read = |bytes: &[u8]| {
        exercise::dataset("idx", bytes, &none) & exercise::dataset("lines", bytes, &none)
    };
    fuzz(&seeds, 20_000, read, no_checksum);
}

#[cfg(feature = "images")]
#[test]
fn images() {
    let names =
        ["rgb.png", "gray.png", "palette.png", "bits.png", "rgba.png", "flat.jpg", "gray.jpg"];
    fuzz(&names.map(golden), 10_000, exercise::image, repair_png);
}

/// A `.safetensors` file without its notes of checksums.
fn without_checksums(bytes: &[u8]) -> Vec<u8> {
    let len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = String::from_utf8(bytes[8..8 + len].to_vec()).unwrap();
    let end = header.find("},").unwrap() + 2;
    let header = format!("{{{}", &header[end..]);
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &bytes[8 + len..]].concat()
}

/// Makes the checksum of a header right, if it is where it should be; those of tensors stay.
fn repair_safetensors(bytes: &mut [u8]) {
    const START: &[u8] = b"{\"__metadata__\":{\"fluvial.checksum\":\"crc32 ";
    let len = bytes.first_chunk().map_or(0, |len| u64::from_le_bytes(*len));
    let Some(header) = usize::try_from(len).ok().and_then(|len| bytes.get_mut(8..)?.get_mut(..len))
    else {
        return;
    };
    if header.starts_with(START) && header.len() >= START.len() + 8 {
        header[START.len()..START.len() + 8].fill(b'0');
        let sum = format!("{:08x}", crc32fast::hash(header));
        header[START.len()..START.len() + 8].copy_from_slice(sum.as_bytes());
    }
}

#[test]
fn safetensors_files() {
    let weight = Tensor::zeros(DType::F32, &[2, 3]).unwrap();
    let bias = Tensor::zeros(DType::BF16, &[3]).unwrap();
    let mut seeds = vec![Vec::new(), Vec::new()];
    safetensors::write(&mut seeds[0], &[("weight", &weight), ("bias", &bias)], "x").unwrap();
    safetensors::write(&mut seeds[1], &[("weight", &bias)], "x").unwrap();
    // Without checksums, too, as others write them: behind those, little else would be reached.
    let bare: Vec<Vec<u8>> = seeds.iter().map(|seed| without_checksums(seed)).collect();
    seeds.extend(bare);
    fuzz(&seeds, 15_000, exercise::one_safetensor, repair_safetensors);
}

/// Checks that bytes are refused when they are opened, before a sample is asked for.
fn refused(format: &str, bytes: &[u8]) {
    let input = Input::memory("x", bytes.to_vec());
    let opened = open_inputs(format, vec![input], &Settings::new());
    assert!(opened.is_err(), "{format} believes {} bytes", bytes.len());
}

/// Small files that claim to be large: each is refused, and nothing is taken for it.
#[test]
fn claims_are_not_believed() {
    let before = peak();
    let mut header = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
    header.extend(
        format!("{:70}", "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }")
            .bytes(),
    );
    refused("npy", &header);
    assert!(!exercise::one_npy(&header));
    let mut empty = Vec::new();
    npy::write(&mut empty, &Tensor::zeros(DType::F32, &[1 << 40, 0]).unwrap(), "x").unwrap();
    refused("npy", &empty);
    let mut idx = vec![0, 0, 0x0e, 3];
    idx.extend([0xff; 12]);
    refused("idx", &idx);
    // A gzip file that grows far beyond what its head says.
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    bomb.write_all(&[0, 0, 8, 1, 0, 0, 0, 9]).unwrap();
    (0..20).for_each(|_| bomb.write_all(&[0; 1 << 20]).unwrap());
    refused("idx", &bomb.finish().unwrap());
    for (crc_at, size_at, count_at) in [(8, 16, 4), (4, 12, 16)] {
        let mut chunk = vec![0; 24];
        chunk[..4].copy_from_slice(&[4, 3, 2, 1]);
        chunk[count_at..count_at + 4].copy_from_slice(&[0xff; 4]);
        chunk[size_at] = 4;
        repair_recordio(&mut chunk, crc_at, size_at);
        refused("recordio", &chunk);
    }
    // Our own format: a chunk that claims 2^31 bytes and 2^32 - 1 records.
    let folder = Folder::new();
    for compression in [Compression::None, Compression::Snappy, Compression::Zstd] {
        let path = folder.path("a.rec");
        let options = Options { compression, ..Options::default() };
        let mut writer = Writer::create(&path, fields(&["x: u8[1000]"]), options).unwrap();
        writer.write(&[&Tensor::zeros(DType::U8, &[1000]).unwrap()]).unwrap();
        writer.finish().unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(4).position(|four| four == b"FLCH").unwrap();
        bytes.truncate(bytes.len() - 16);
        bytes[at + 8..at + 12].copy_from_slice(&u32::MAX.to_le_bytes());
        bytes[at + 16..at + 24].copy_from_slice(&(1_u64 << 31).to_le_bytes());
        repair_records(&mut bytes);
        refused("records", &bytes);
    }
    assert!(peak() < before + 1500, "{} MiB more", peak() - before);
}
