//! Small files that want much memory: each is refused before it is taken.

mod common;

use std::io::Write;
use std::sync::Mutex;

use common::Folder;
use fluvial_data::formats::{Input, Settings, npz, open_inputs};
use fluvial_tensor::{ErrorKind, Tensor, memory};

/// The limit of memory is one for the process.
static ALONE: Mutex<()> = Mutex::new(());

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// An archive with many names for one file.
fn overlapping(archive: &[u8], n_names: usize) -> Vec<u8> {
    let end_at = archive.len() - 22;
    let start = u32_at(archive, end_at + 16);
    let entry = &archive[start..end_at];
    let mut more = entry.to_vec();
    for i in 0..n_names {
        let name = format!("{i}.npy");
        more.extend(&entry[..28]);
        more.extend((name.len() as u16).to_le_bytes());
        more.extend(&entry[30..46]);
        more.extend(name.as_bytes());
    }
    let mut end = archive[end_at..].to_vec();
    end[12..16].copy_from_slice(&(more.len() as u32).to_le_bytes());
    [&archive[..start], &more, &end].concat()
}

#[test]
fn files_of_an_archive_share_no_bytes() {
    let _alone = ALONE.lock();
    let folder = Folder::new();
    let path = folder.path("a.npz");
    let x = Tensor::zeros(fluvial_tensor::DType::F32, &[1000]).unwrap();
    npz::write(&path, &[("x", &x)]).unwrap();
    let archive = std::fs::read(&path).unwrap();
    assert!(npz::read_input(&Input::memory("a", archive.clone())).is_ok());
    let bomb = overlapping(&archive, 2000);
    let error = npz::read_input(&Input::memory("a", bomb.clone())).err().unwrap().to_string();
    assert!(error.contains("overlaps another file"), "{error}");
    assert!(open_inputs("npz", vec![Input::memory("a", bomb)], &Settings::new()).is_err());
}

/// A part of a PNG file.
#[cfg(feature = "images")]
fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
    let body = [kind, data].concat();
    let crc = crc32fast::hash(&body).to_be_bytes();
    [&(data.len() as u32).to_be_bytes(), &body[..], &crc].concat()
}

#[cfg(feature = "images")]
#[test]
fn images_take_a_bounded_multiple_of_their_bytes() {
    use fluvial_data::formats::images;

    let _alone = ALONE.lock();
    // A bit for each pixel, in as many bytes as deflate would need for zeros.
    for (side, bit_depth, color) in
        [(32768u32, 1u8, 0u8), (32768, 1, 3), (32768, 8, 6), (16384, 16, 6)]
    {
        let mut head = [side.to_be_bytes(), side.to_be_bytes()].concat();
        head.extend([bit_depth, color, 0, 0, 0]);
        let parts = [
            b"\x89PNG\r\n\x1a\n".to_vec(),
            chunk(b"IHDR", &head),
            chunk(b"IDAT", &vec![0; 131_000]),
            chunk(b"IEND", &[]),
        ];
        let input = Input::memory("bomb.png", parts.concat());
        let error = images::decode(&input, 3).err().unwrap().to_string();
        assert!(error.contains("pixels in"), "{side} {bit_depth} {color}: {error}");
    }
}

/// The limit that the caller sets holds for what is unpacked, too.
#[test]
fn unpacking_keeps_to_the_limit_of_memory() {
    let _alone = ALONE.lock();
    let mut text = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    (0..64).for_each(|_| text.write_all(&[b'a'; 1 << 16]).unwrap());
    let text = text.finish().unwrap();
    let open = || open_inputs("lines", vec![Input::memory("a", text.clone())], &Settings::new());
    assert!(open().is_ok());
    memory::set_limit(Some(memory::stats().live_bytes + (1 << 20)));
    let error = open().err();
    memory::set_limit(None);
    assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Memory));
}

/// The decoder would look behind the end of such a palette, or of its own table.
#[cfg(feature = "images")]
#[test]
fn a_palette_of_parts_of_colours_or_too_many_is_refused() {
    use fluvial_data::formats::images;

    let decode = |n: usize| {
        let mut lines = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        (0..2).for_each(|_| lines.write_all(&[0, 0, 0]).unwrap());
        let head = [&2u32.to_be_bytes()[..], &2u32.to_be_bytes(), &[8, 3, 0, 0, 0]].concat();
        let parts = [
            b"\x89PNG\r\n\x1a\n".to_vec(),
            chunk(b"IHDR", &head),
            chunk(b"PLTE", &vec![7; n]),
            chunk(b"tRNS", &[9]),
            chunk(b"IDAT", &lines.finish().unwrap()),
            chunk(b"IEND", &[]),
        ];
        images::decode(&Input::memory("palette.png", parts.concat()), 3)
    };
    assert_eq!(decode(6).unwrap().to_vec::<u8>().unwrap(), [7; 12]);
    for n in [1, 2, 4, 5, 7, 8, 770, 771, 3000] {
        assert!(decode(n).is_err(), "{n}");
    }
}

/// A small file that is a large image is left half-way when somebody asks to stop.
#[cfg(feature = "images")]
#[test]
fn decoding_of_an_image_hears_a_stop() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use fluvial_data::formats::images;
    use fluvial_tensor::interrupt;

    let _alone = ALONE.lock();
    let side = 8192u32;
    let mut lines = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    (0..side).for_each(|_| lines.write_all(&vec![0; side as usize + 1]).unwrap());
    let head = [&side.to_be_bytes()[..], &side.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    let parts = [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", &head),
        chunk(b"IDAT", &lines.finish().unwrap()),
        chunk(b"IEND", &[]),
    ];
    let input = Input::memory("large.png", parts.concat());
    let is_over = AtomicBool::new(false);
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                interrupt::request();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        let _hears = interrupt::hear(true);
        let error = images::decode(&input, 1).err();
        is_over.store(true, Ordering::Relaxed);
        error
    });
    interrupt::clear();
    assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Interrupted));
    // Nobody asks any more.
    assert_eq!(images::decode(&input, 1).unwrap().dims(), [8192, 8192, 1]);
}
