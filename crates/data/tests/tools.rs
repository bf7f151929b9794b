//! Datasets to other files, and as tables.

mod common;

use std::sync::Arc;

use common::{Folder, settings, texts};
use fluvial_data::Dataset;
use fluvial_data::formats::records::{Compression, Options};
use fluvial_data::formats::{
    Input, Setting, Settings, convert, head, npz, open, open_inputs, stat,
};
use fluvial_tensor::{DType, Tensor};

fn lines(text: &str) -> Arc<dyn Dataset> {
    open_inputs("lines", vec![Input::memory("x", text.into())], &Settings::new()).unwrap()
}

/// Tensors as a dataset.
fn arrays(tensors: &[(&str, &Tensor)]) -> Arc<dyn Dataset> {
    let folder = Folder::new();
    let path = folder.path("a.npz");
    npz::write(&path, tensors).unwrap();
    let input = Input::memory("arrays", std::fs::read(path).unwrap());
    open_inputs("npz", vec![input], &Settings::new()).unwrap()
}

fn numbers(n: usize) -> Arc<dyn Dataset> {
    let values: Vec<f64> = (0..2 * n).map(|i| i as f64 / 3.0).collect();
    let x = Tensor::from_f64s(DType::F32, &values, &[n, 2]).unwrap();
    let y: Vec<i64> = (0..n as i64).map(|i| i64::MAX - i).collect();
    arrays(&[("x", &x), ("y", &Tensor::from_vec(y, &[n]).unwrap())])
}

fn same(a: &dyn Dataset, b: &dyn Dataset) {
    assert_eq!(a.len(), b.len());
    for i in 0..a.len() {
        for (x, y) in a.get(i).unwrap().iter().zip(b.get(i).unwrap()) {
            assert_eq!((x.dtype(), x.as_bytes()), (y.dtype(), y.as_bytes()));
        }
    }
}

#[test]
fn what_is_converted_is_the_same() {
    let folder = Folder::new();
    let data = numbers(600);
    for (name, format) in [("a.rec", "records"), ("a.npz", "npz"), ("a.csv", "csv")] {
        let path = folder.path(name);
        let options = Options { compression: Compression::Snappy, ..Options::default() };
        assert_eq!(convert(&*data, &path, options).unwrap(), 600);
        let given = match format {
            "csv" => {
                let one = |n| Setting::List(if n == 0 { vec![] } else { vec![Setting::Int(n)] });
                let mut given = settings(&[("dtype", texts(&["f32", "i64"]))]);
                given.insert("shape".into(), Setting::List(vec![one(2), one(0)]));
                given
            }
            _ => Settings::new(),
        };
        same(&*data, &*open(format, &[path.into()], &given).unwrap());
    }
    let error = convert(&*data, &folder.path("a.npy"), Options::default()).unwrap_err().to_string();
    assert!(error.contains("takes one field, but there are 2"), "{error}");
    assert!(convert(&*data, &folder.path("a.txt"), Options::default()).is_err());
}

#[test]
fn text_goes_through_tables_and_records() {
    let folder = Folder::new();
    let data = lines("plain\n\nwith, \"quotes\"\nüñí");
    for (name, format) in [("t.rec", "records"), ("t.csv", "csv")] {
        let path = folder.path(name);
        convert(&*data, &path, Options::default()).unwrap();
        same(&*data, &*open(format, &[path.into()], &Settings::new()).unwrap());
    }
    assert!(convert(&*data, &folder.path("t.npz"), Options::default()).is_err());
}

#[test]
fn a_failed_conversion_leaves_what_was_there() {
    let folder = Folder::new();
    let path = folder.path("a.rec");
    convert(&*numbers(3), &path, Options::default()).unwrap();
    let before = std::fs::read(&path).unwrap();
    let broken = "a,b\n1,2\n3,x\n";
    let given = settings(&[("dtype", texts(&["i64"]))]);
    let data = open_inputs("csv", vec![Input::memory("x", broken.into())], &given).unwrap();
    assert!(convert(&*data, &path, Options::default()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 1);
    // A file can be converted onto itself.
    let data = open("records", &[path.clone().into()], &Settings::new()).unwrap();
    let options = Options { compression: Compression::Zstd, ..Options::default() };
    convert(&*data, &path, options).unwrap();
    same(&*numbers(3), &*open("records", &[path.into()], &Settings::new()).unwrap());
}

#[test]
fn a_note_tells_of_a_file_that_was_not_finished() {
    let folder = Folder::new();
    let path = folder.path("a.rec");
    convert(&*numbers(3), &path, Options::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let data = open("records", &[path.clone().into()], &Settings::new()).unwrap();
    let text = stat(&*data).unwrap();
    assert!(text.starts_with("3 samples\n"), "{text}");
    let note =
        format!("note: `{path}`: its index is damaged; the chunks were found by their headers\n");
    assert!(text.ends_with(&note), "{text}");
}

#[test]
fn tables_show_the_data() {
    assert_eq!(
        head(&*numbers(600), 2).unwrap(),
        "sample  x: f32[2]        y: i64[]\n\
         0       [0, 0.33333334]  9223372036854775807\n\
         1       [0.6666667, 1]   9223372036854775806\n"
    );
    assert_eq!(
        head(&*lines("one\ntwo"), 9).unwrap(),
        "sample  text: u8[length]\n0       \"one\"\n1       \"two\"\n"
    );
    let x = Tensor::from_slice(&[1.0_f32, f32::NAN, 3.0, -2.0], &[4]).unwrap();
    let data = arrays(&[("x", &x)]);
    assert_eq!(
        stat(&*data).unwrap(),
        "4 samples\n\
         field  type   min  max  mean      nan  bytes\n\
         x      f32[]  -2   3    0.666667  1    16\n"
    );
    assert_eq!(
        stat(&*lines("")).unwrap(),
        "0 samples\n\
         field  type        min  max  mean  nan  bytes\n\
         text   u8[length]  -    -    -     0    0\n"
    );
}
