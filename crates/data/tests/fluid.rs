//! Fluid's recordio files, in both dialects. The files come from `golden/make_recordio.py`.

mod common;

use std::sync::Arc;

use common::{settings, shapes, shown, texts};
use fluvial_data::Dataset;
use fluvial_data::formats::{Input, Setting, Settings, open_inputs};
use fluvial_tensor::{DType, Result};

fn golden(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/golden/{name}.recordio", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

fn open(bytes: Vec<u8>, settings: &Settings) -> Result<Arc<dyn Dataset>> {
    open_inputs("recordio", vec![Input::memory("x.recordio", bytes)], settings)
}

#[test]
fn tensors_become_fields() {
    for name in ["cpp_none", "cpp_snappy", "cpp_gzip", "go_tensors"] {
        let data = open(golden(name), &Settings::new()).unwrap();
        assert_eq!(shown(data.fields()), ["0: f32[2, 13]", "1: i64[2, 1]"]);
        assert_eq!(data.len(), 6);
        let batch = data.gather(&[5, 0]).unwrap();
        assert_eq!(batch[0].dims(), [2, 2, 13]);
        assert_eq!(batch[0].get_f64(&[0, 1, 12]).unwrap(), (26.0 * 5.0 + 25.0) / 2.0);
        assert_eq!(batch[1].to_vec::<i64>().unwrap(), [10, 11, 0, 1]);
    }
}

#[test]
fn declared_rows_are_samples() {
    let declared = settings(&[
        ("shape", shapes(&[&[13], &[1]])),
        ("dtype", texts(&["float32", "int64"])),
        ("names", texts(&["x", "y"])),
    ]);
    for name in ["cpp_none", "cpp_snappy", "cpp_gzip", "go_tensors"] {
        let data = open(golden(name), &declared).unwrap();
        assert_eq!(shown(data.fields()), ["x: f32[13]", "y: i64[1]"]);
        assert_eq!(data.len(), 12);
        let batch = data.gather(&[7, 11, 0]).unwrap();
        assert_eq!(batch[1].to_vec::<i64>().unwrap(), [7, 11, 0]);
        assert_eq!(batch[0].get_f64(&[0, 1]).unwrap(), (7.0 * 13.0 + 1.0) / 2.0);
    }
    let wrong = settings(&[("dtype", texts(&["float32", "float32"]))]);
    let error = open(golden("cpp_none"), &wrong).err().unwrap().to_string();
    assert!(error.contains("field 1 of `x.recordio`, `1`, is i64[2, 1], but f32"), "{error}");
    let wrong = settings(&[("shape", shapes(&[&[14], &[1]]))]);
    let error = open(golden("cpp_none"), &wrong).err().unwrap().to_string();
    assert!(error.contains("is f32[13], but the sizes [14] are declared"), "{error}");
}

#[test]
fn other_records_are_bytes() {
    for name in ["go_none", "go_snappy", "go_gzip"] {
        let data = open(golden(name), &Settings::new()).unwrap();
        assert_eq!(shown(data.fields()), ["0: u8[length]"]);
        assert_eq!(data.len(), 7);
        let text = |i| String::from_utf8(data.get(i).unwrap()[0].to_vec::<u8>().unwrap()).unwrap();
        assert_eq!(text(2), format!("record 2: {}", "again ".repeat(6)));
        assert_eq!((text(5), text(6)), (String::new(), "the last one".into()));
    }
}

#[test]
fn sequences_are_samples() {
    for given in [settings(&[]), settings(&[("split", Setting::Bool(true))])] {
        let data = open(golden("cpp_sequences"), &given).unwrap();
        assert_eq!(shown(data.fields()), ["0: i64[size0_0, 1]", "1: i16[]"]);
        assert_eq!(data.len(), 6);
        let sample = data.get(5).unwrap();
        assert_eq!(sample[0].to_vec::<i64>().unwrap(), [22, 23]);
        assert_eq!((sample[0].dims(), sample[1].item::<i32>().unwrap()), (&[2, 1][..], 2));
        assert_eq!(data.get(0).unwrap()[0].dims(), [0, 1]);
        assert_eq!(data.get(4).unwrap()[1].dtype(), DType::I16);
        assert_eq!(data.get(4).unwrap()[1].item::<i32>().unwrap(), -2);
    }
    let whole =
        open(golden("cpp_sequences"), &settings(&[("split", Setting::Bool(false))])).unwrap();
    let error = whole.get(1).unwrap_err().to_string();
    assert!(error.contains("record 1: it holds several sequences"), "{error}");
}

/// Reads everything, and gives the first error.
fn read_all(bytes: Vec<u8>) -> Result<u64> {
    let data = open(bytes, &Settings::new())?;
    (0..data.len()).try_for_each(|i| data.get(i).map(drop))?;
    Ok(data.len())
}

#[test]
fn a_bad_chunk_is_named_with_its_place() {
    let bytes = golden("cpp_none");
    let size = u32::from_le_bytes(bytes[16..20].try_into().unwrap()) as usize;
    let second = 20 + size;
    let mut damaged = bytes.clone();
    damaged[second + 100] ^= 1;
    let expected = format!(
        "`x.recordio`: chunk 1, byte {}: the checksum of the payload is wrong",
        second + 20
    );
    assert_eq!(read_all(damaged).unwrap_err().to_string(), expected);
    let error = read_all(bytes[..bytes.len() - 5].to_vec()).unwrap_err().to_string();
    assert!(error.contains(&format!("chunk 1, byte {second}: a payload of ")), "{error}");
    let error = read_all(b"some text".to_vec()).unwrap_err().to_string();
    assert!(error.contains("is not the start of a record file"), "{error}");
    assert!(read_all(Vec::new()).is_err());
}

#[test]
fn a_flipped_or_missing_byte_is_never_missed() {
    for name in ["cpp_snappy", "go_gzip", "go_snappy", "cpp_none"] {
        let bytes = golden(name);
        let n_samples = read_all(bytes.clone()).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(read_all(damaged).is_err(), "{name}, byte {at}");
            if let Ok(left) = read_all(bytes[..at].to_vec()) {
                assert!(left < n_samples);
            }
        }
    }
}
