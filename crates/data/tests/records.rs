//! Record files of our own: what is written is read, and damage is found.

mod common;

use std::sync::Arc;

use common::{Folder, Rng, fields, settings, shown};
use fluvial_data::Dataset;
use fluvial_data::formats::records::{Cache, Compression, Options, Records, Writer};
use fluvial_data::formats::{self, Input, Setting, Settings};
use fluvial_tensor::{DType, Result, Tensor};

const FIXED: [&str; 3] = ["x: f32[3]", "label: i64[]", "seen: bool[2]"];
const VARYING: [&str; 3] = ["words: i32[n, 2]", "text: u8[length]", "tags: i8[n]"];

/// Record `i` of a file with the fields [`FIXED`].
fn fixed(i: usize) -> Vec<Tensor> {
    let x = Tensor::from_f64s(DType::F32, &[i as f64, 0.5, -1.0], &[3]).unwrap();
    let seen = Tensor::from_slice(&[i.is_multiple_of(2), true], &[2]).unwrap();
    vec![x, Tensor::scalar(i as i64 * 7), seen]
}

/// Record `i` of a file with the fields [`VARYING`].
fn varying(i: usize) -> Vec<Tensor> {
    let (n, length) = (i % 4, (i * 5) % 7);
    let words: Vec<i32> = (0..2 * n).map(|k| (i * 10 + k) as i32).collect();
    let text: Vec<u8> = (0..length).map(|k| b'a' + ((i + k) % 26) as u8).collect();
    let tags: Vec<i8> = (0..n).map(|k| k as i8 - 1).collect();
    vec![
        Tensor::from_slice(&words, &[n, 2]).unwrap(),
        Tensor::from_slice(&text, &[length]).unwrap(),
        Tensor::from_slice(&tags, &[n]).unwrap(),
    ]
}

fn same(a: &[Tensor], b: &[Tensor]) -> bool {
    let equal = |(a, b): (&Tensor, &Tensor)| {
        let (a, b) = (a.contiguous().unwrap(), b.contiguous().unwrap());
        a.ty() == b.ty() && a.as_bytes() == b.as_bytes()
    };
    a.len() == b.len() && a.iter().zip(b).all(equal)
}

fn write(path: &str, (names, record): Kind, count: usize, options: Options) {
    let mut writer = Writer::create(path, fields(names), options).unwrap();
    for i in 0..count {
        writer.write(&record(i).iter().collect::<Vec<_>>()).unwrap();
    }
    writer.finish().unwrap();
}

fn options(compression: Compression, chunk_bytes: usize) -> Options {
    Options { compression, chunk_bytes }
}

fn open(bytes: &[u8]) -> Result<Records> {
    Records::with_cache(Input::memory("x.rec", bytes.to_vec()), Cache::new(1 << 20))
}

/// Fields, and the record of a number.
type Kind = (&'static [&'static str], fn(usize) -> Vec<Tensor>);

const KINDS: [Kind; 2] = [(&FIXED, fixed), (&VARYING, varying)];

#[test]
fn what_is_written_is_read() {
    let folder = Folder::new();
    let path = folder.path("a.rec");
    for kind in KINDS {
        for compression in [Compression::None, Compression::Snappy, Compression::Zstd] {
            for chunk_bytes in [1, 100, 1 << 20] {
                write(&path, kind, 50, options(compression, chunk_bytes));
                let records = Records::open(&path).unwrap();
                assert_eq!(shown(records.fields()), kind.0);
                assert_eq!((records.len(), records.notes().is_empty()), (50, true));
                records.verify().unwrap();
                for i in (0..50).rev() {
                    assert!(same(&records.get(i as u64).unwrap(), &kind.1(i)), "{i}");
                }
            }
        }
    }
}

#[test]
fn batches_follow_the_numbers() {
    let folder = Folder::new();
    let path = folder.path("a.rec");
    write(&path, KINDS[0], 1000, options(Compression::None, 500));
    for limit in [0, 3000, 1 << 20] {
        let cache = Cache::new(limit);
        let records = Records::with_cache(Input::open(&path).unwrap(), cache.clone()).unwrap();
        let mut rng = Rng::new(3);
        for _ in 0..20 {
            let numbers: Vec<u64> = (0..64).map(|_| rng.below(1000) as u64).collect();
            let batch = records.gather(&numbers).unwrap();
            assert_eq!(batch[0].dims(), [64, 3]);
            for (row, &number) in numbers.iter().enumerate() {
                let row: Vec<Tensor> = batch.iter().map(|x| x.index(0, row).unwrap()).collect();
                assert!(same(&row, &fixed(number as usize)));
            }
            assert!(cache.bytes() <= limit);
        }
        let empty = records.gather(&[]).unwrap();
        assert_eq!((empty[0].dims(), empty[2].dims()), (&[0, 3][..], &[0, 2][..]));
        let error = records.gather(&[1000]).unwrap_err().to_string();
        assert_eq!(error, "sample 1000 was asked for, but there are 1000");
    }
}

#[test]
fn threads_share_a_file() {
    let folder = Folder::new();
    let path = folder.path("a.rec");
    write(&path, KINDS[1], 500, options(Compression::Snappy, 300));
    let cache = Cache::new(4000);
    let records = Records::with_cache(Input::open(&path).unwrap(), cache).unwrap();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let records = &records;
            scope.spawn(move || {
                let mut rng = Rng::new(seed);
                for _ in 0..300 {
                    let i = rng.below(500);
                    assert!(same(&records.get(i as u64).unwrap(), &varying(i)));
                }
            });
        }
    });
}

#[test]
fn files_follow_one_another() {
    let folder = Folder::new();
    let paths: Vec<Arc<str>> = (0..3).map(|i| folder.path(&format!("{i}.rec")).into()).collect();
    for (i, path) in paths.iter().enumerate() {
        let record: [fn(usize) -> Vec<Tensor>; 3] = [fixed, |i| fixed(100 + i), |i| fixed(200 + i)];
        write(path, (&FIXED, record[i]), 100, options(Compression::Snappy, 300));
    }
    let small = settings(&[("cache", Setting::Int(0))]);
    for given in [Settings::new(), small] {
        let data = formats::open("records", &paths, &given).unwrap();
        assert_eq!((data.len(), shown(data.fields())), (300, FIXED.map(String::from).to_vec()));
        let batch = data.gather(&[250, 0, 299, 100, 99]).unwrap();
        assert_eq!(batch[1].to_vec::<i64>().unwrap(), [250, 0, 299, 100, 99].map(|i| i * 7));
        assert_eq!(batch[2].to_vec::<bool>().unwrap()[4..8], [false, true, true, true]);
    }
}

#[test]
fn files_with_other_fields_do_not_follow() {
    let folder = Folder::new();
    let make = |name: &str, field: &str, x: Tensor| -> Arc<str> {
        let path = folder.path(name);
        let mut writer = Writer::create(&path, fields(&[field]), Options::default()).unwrap();
        writer.write(&[&x]).unwrap();
        writer.finish().unwrap();
        path.into()
    };
    let zeros = |n: usize| Tensor::zeros(DType::F32, &[n]).unwrap();
    let (two, three) = (make("2.rec", "x: f32[2]", zeros(2)), make("3.rec", "x: f32[3]", zeros(3)));
    let data = formats::open("records", &[two.clone(), three], &Settings::new()).unwrap();
    assert_eq!(shown(data.fields()), ["x: f32[size0_0]"]);
    assert_eq!(data.get(1).unwrap()[0].dims(), [3]);
    assert!(data.gather(&[0, 1]).is_err());
    let number = make("n.rec", "n: i64[]", Tensor::scalar(1_i64));
    let error = formats::open("records", &[two.clone(), number.clone()], &Settings::new());
    let expected = format!(
        "`{number}` has other fields (n: i64[]) than `{two}` (x: f32[2])\n  \
         remedy: give files that have the same fields"
    );
    assert_eq!(error.err().unwrap().to_string(), expected);
}

#[test]
fn a_file_is_read_while_it_is_written() {
    let folder = Folder::new();
    let path = folder.path("a.rec");
    let mut writer = Writer::create(&path, fields(&FIXED), Options::default()).unwrap();
    for i in 0..7 {
        writer.write(&fixed(i).iter().collect::<Vec<_>>()).unwrap();
        if i == 4 {
            writer.flush().unwrap();
        }
    }
    assert_eq!((writer.n_records(), Records::open(&path).unwrap().len()), (7, 5));
    drop(writer);
    let records = Records::open(&path).unwrap();
    assert_eq!((records.len(), records.notes().len()), (7, 0));
}

#[test]
fn sizes_that_differ_do_not_form_a_batch() {
    let folder = Folder::new();
    let path = folder.path("a.rec");
    write(&path, KINDS[1], 8, Options::default());
    let records = Records::open(&path).unwrap();
    let error = records.gather(&[0, 1]).unwrap_err().to_string();
    assert_eq!(
        error,
        "the field `words` has the sizes [0, 2] and [1, 2] in samples of one batch\n  \
         remedy: bucket samples by size, or pad them, before they are put together"
    );
    assert_eq!(records.gather(&[]).unwrap()[0].dims(), [0, 0, 2]);
}

#[test]
fn a_file_cut_anywhere_keeps_its_complete_chunks() {
    let folder = Folder::new();
    for (kind, compression) in [
        (KINDS[0], Compression::None),
        (KINDS[1], Compression::Zstd),
        (KINDS[1], Compression::None),
    ] {
        let path = folder.path("a.rec");
        let mut ends = Vec::new();
        let mut writer =
            Writer::create(&path, fields(kind.0), options(compression, 1 << 20)).unwrap();
        let head = std::fs::metadata(&path).unwrap().len() as usize;
        for i in 0..12 {
            writer.write(&kind.1(i).iter().collect::<Vec<_>>()).unwrap();
            if i % 3 == 2 {
                writer.flush().unwrap();
                ends.push(std::fs::metadata(&path).unwrap().len() as usize);
            }
        }
        writer.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for cut in 0..bytes.len() {
            let expected = ends.iter().filter(|&&end| end <= cut).count() as u64 * 3;
            let Ok(records) = open(&bytes[..cut]) else {
                assert!(cut < head, "{cut}");
                continue;
            };
            assert!(cut >= head && !records.notes().is_empty(), "{cut}");
            assert_eq!(records.len(), expected, "{cut}");
            for i in 0..expected {
                assert!(same(&records.get(i).unwrap(), &kind.1(i as usize)));
            }
            // A writer goes on behind the last complete chunk.
            if cut % 11 != 0 && ends.iter().all(|end| end.abs_diff(cut) > 1) {
                continue;
            }
            let torn = folder.write("torn.rec", &bytes[..cut]);
            let mut writer = Writer::append(&torn).unwrap();
            assert_eq!(writer.n_records(), expected);
            writer.write(&kind.1(expected as usize).iter().collect::<Vec<_>>()).unwrap();
            writer.finish().unwrap();
            let again = Records::open(&torn).unwrap();
            assert_eq!((again.len(), again.notes().is_empty()), (expected + 1, true));
            for i in 0..=expected {
                assert!(same(&again.get(i).unwrap(), &kind.1(i as usize)));
            }
        }
        assert!(open(&bytes).unwrap().notes().is_empty());
    }
}

#[test]
fn a_byte_flipped_anywhere_is_found() {
    let folder = Folder::new();
    let path = folder.path("a.rec");
    for (kind, compression) in [
        (KINDS[0], Compression::None),
        (KINDS[1], Compression::Snappy),
        (KINDS[1], Compression::Zstd),
    ] {
        write(&path, kind, 12, options(compression, 100));
        let bytes = std::fs::read(&path).unwrap();
        let n_chunks = open(&bytes).unwrap().n_chunks();
        assert!(n_chunks >= 3);
        let mut named = std::collections::BTreeSet::new();
        for at in 0..bytes.len() {
            for bit in [0, 7] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let error = match open(&damaged) {
                    Err(error) => error.to_string(),
                    Ok(records) => match (records.verify(), records.notes().first()) {
                        (Err(error), _) => error.to_string(),
                        // The index can be made again, and then nothing is missing.
                        (Ok(()), Some(_)) => {
                            assert_eq!(records.len(), 12, "{at}");
                            for i in 0..12 {
                                assert!(same(&records.get(i).unwrap(), &kind.1(i as usize)));
                            }
                            continue;
                        }
                        (Ok(()), None) => panic!("byte {at} is not missed"),
                    },
                };
                assert!(error.starts_with("`x.rec`: ") && error.contains("byte "), "{error}");
                if let Some((_, after)) = error.split_once("chunk ") {
                    named.insert(after[..after.find(',').unwrap()].parse::<usize>().unwrap());
                    let place = error.split_once("byte ").unwrap().1.split(':').next().unwrap();
                    let place: usize = place.parse().unwrap();
                    assert!(place <= at && at - place < 200, "{place} for {at}");
                }
            }
        }
        assert_eq!(named.len(), n_chunks);
    }
}

#[test]
fn a_damaged_chunk_of_an_unfinished_file_is_no_torn_tail() {
    let folder = Folder::new();
    let path = folder.path("a.rec");
    write(&path, KINDS[0], 30, options(Compression::None, 100));
    let bytes = std::fs::read(&path).unwrap();
    let second =
        bytes.windows(4).enumerate().filter(|(_, four)| *four == b"FLCH").nth(1).unwrap().0;
    let mut damaged = bytes[..bytes.len() - 16].to_vec();
    damaged[second + 9] ^= 1;
    let error = open(&damaged).unwrap_err().to_string();
    let expected =
        format!("`x.rec`: chunk 1, byte {second}: the checksum of the chunk's header is wrong");
    assert_eq!(error, expected);
    let path = folder.write("damaged.rec", &damaged);
    assert!(Writer::append(&path).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), damaged);
}

#[test]
fn a_tail_of_zeros_is_cut() {
    let folder = Folder::new();
    let path = folder.path("a.rec");
    write(&path, KINDS[0], 10, options(Compression::None, 100));
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(4).enumerate().filter(|(_, four)| *four == b"FLCH").nth(2).unwrap().0;
    bytes.truncate(at);
    bytes.resize(at + 5000, 0);
    let records = open(&bytes).unwrap();
    records.verify().unwrap();
    assert!(records.notes()[0].ends_with(&format!("5000 bytes from byte {at} on are left out")));
}

#[test]
fn records_are_checked_when_they_are_written() {
    let folder = Folder::new();
    let path = folder.path("a.rec");
    let mut writer =
        Writer::create(&path, fields(&["a: f32[n]", "b: i64[n]"]), Options::default()).unwrap();
    let (three, two) =
        (Tensor::zeros(DType::F32, &[3]).unwrap(), Tensor::zeros(DType::I64, &[2]).unwrap());
    let error = writer.write(&[&three, &two]).unwrap_err().to_string();
    assert_eq!(error, "the field `b` is i64[n], but the sizes [2] were given");
    let error = writer.write(&[&two, &two]).unwrap_err().to_string();
    assert!(error.contains("the field `a`") && error.contains("cast it to f32"), "{error}");
    let error = writer.write(&[&three]).unwrap_err().to_string();
    assert!(error.ends_with("has 2 tensors, but 1 were given"), "{error}");
    let error = Writer::append(&path).unwrap_err().to_string();
    assert!(error.contains("is being written by another"), "{error}");
    writer.finish().unwrap();
    assert_eq!(Records::open(&path).unwrap().len(), 0);
    for names in [&[][..], &["a: f32[]", "a: i64[]"], &["a: f32[0]"], &["a: f32[2*n]"]] {
        assert!(Writer::create(&path, fields(names), Options::default()).is_err(), "{names:?}");
    }
}

#[test]
fn data_that_compresses_too_well_is_read_back() {
    let folder = Folder::new();
    let path = folder.path("zeros.rec");
    let zeros = Tensor::zeros(DType::U8, &[8 << 20]).unwrap();
    let all = fields(&["x: u8[8388608]"]);
    let mut writer = Writer::create(&path, all, options(Compression::Zstd, 1 << 10)).unwrap();
    writer.write(&[&zeros]).unwrap();
    writer.finish().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20);
    assert!(same(&Records::open(&path).unwrap().get(0).unwrap(), &[zeros]));
}

#[test]
fn a_file_that_shrinks_gives_an_error() {
    let folder = Folder::new();
    let path = folder.path("a.rec");
    write(&path, KINDS[0], 1000, options(Compression::None, 500));
    let records = Records::open(&path).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(1000).unwrap();
    let error = records.get(999).unwrap_err().to_string();
    assert!(error.contains("it was longer when it was opened"), "{error}");
}
