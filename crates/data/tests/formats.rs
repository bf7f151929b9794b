//! Formats of other programs. The files come from `golden/make_files.py`.

mod common;

use std::sync::Arc;

use common::{Folder, settings, shapes, shown, texts};
use fluvial_data::formats::{Input, Setting, Settings, format_of, npz, open, open_inputs};
use fluvial_data::{Dataset, files};
use fluvial_tensor::{DType, Result, Tensor};

fn golden(name: &str) -> String {
    let folder = format!("{}/tests/golden", env!("CARGO_MANIFEST_DIR"));
    files::allow(std::path::Path::new(&folder)).unwrap();
    format!("{folder}/{name}")
}

fn opened(format: &str, names: &[&str], given: &Settings) -> Result<Arc<dyn Dataset>> {
    let paths: Vec<Arc<str>> = names.iter().map(|name| golden(name).into()).collect();
    open(format, &paths, given)
}

fn memory(format: &str, text: &str, given: &[(&str, Setting)]) -> Result<Arc<dyn Dataset>> {
    let input = Input::memory("x.txt", text.as_bytes().to_vec());
    open_inputs(format, vec![input], &settings(given))
}

fn error<T>(result: Result<T>) -> String {
    result.err().unwrap().to_string()
}

fn f32s(x: &Tensor) -> Vec<f32> {
    x.to_vec::<f32>().unwrap()
}

#[test]
fn npy_rows_are_samples() {
    for name in ["x.npy", "fortran.npy"] {
        let data = opened("npy", &[name], &Settings::new()).unwrap();
        assert_eq!(shown(data.fields())[0].split_once(": ").unwrap().1, "f32[3, 2]");
        assert_eq!(data.len(), 4);
        let batch = data.gather(&[3, 0]).unwrap();
        assert_eq!(batch[0].dims(), [2, 3, 2]);
        let expected: Vec<f32> = (18..24).chain(0..6).map(|i| i as f32 / 2.0).collect();
        assert_eq!(f32s(&batch[0]), expected);
    }
    let both = opened("npy", &["x.npy", "fortran.npy"], &Settings::new()).unwrap();
    assert_eq!((both.len(), both.fields().len()), (8, 1));
    assert_eq!(f32s(&both.get(5).unwrap()[0]), [3.0, 3.5, 4.0, 4.5, 5.0, 5.5]);
    let zip = settings(&[("zip", Setting::Bool(true))]);
    let zipped = opened("npy", &["x.npy", "fortran.npy"], &zip).unwrap();
    assert_eq!(
        (zipped.len(), shown(zipped.fields())),
        (4, vec!["x: f32[3, 2]".into(), "fortran: f32[3, 2]".into()])
    );
}

#[test]
fn declared_sizes_may_be_others_for_as_many_elements() {
    let declared = settings(&[("shape", shapes(&[&[6]])), ("names", texts(&["pixels"]))]);
    let data = opened("npy", &["x.npy"], &declared).unwrap();
    assert_eq!(shown(data.fields()), ["pixels: f32[6]"]);
    assert_eq!(data.gather(&[1, 2]).unwrap()[0].dims(), [2, 6]);
    let wrong = settings(&[("shape", shapes(&[&[7]]))]);
    assert!(
        error(opened("npy", &["x.npy"], &wrong))
            .ends_with("is f32[3, 2], but the sizes [7] are declared")
    );
    let wrong = settings(&[("shape", shapes(&[&[6], &[1]]))]);
    assert!(
        error(opened("npy", &["x.npy"], &wrong)).ends_with("has 1 fields, but `shape` declares 2")
    );
    let unknown = settings(&[("zap", Setting::Bool(true))]);
    assert_eq!(
        error(opened("npy", &["x.npy"], &unknown)),
        "the format `npy` has no setting `zap`\n  remedy: it has: dtype, names, shape, zip"
    );
}

#[test]
fn npz_arrays_are_fields() {
    let data = opened("npz", &["plain.npz"], &Settings::new()).unwrap();
    assert_eq!(shown(data.fields()), ["x: f32[3, 2]", "y: i64[]"]);
    assert_eq!(data.gather(&[2, 1]).unwrap()[1].to_vec::<i64>().unwrap(), [6, 3]);
    let packed = opened("npz", &["packed.npz"], &Settings::new()).unwrap();
    assert_eq!(shown(packed.fields()), ["x: f32[3, 2]", "y: i64[]", "seen: bool[]"]);
    assert_eq!(
        packed.gather(&[0, 1, 3]).unwrap()[2].to_vec::<bool>().unwrap(),
        [true, false, true]
    );
    let tensors = npz::read(&golden("packed.npz")).unwrap();
    assert_eq!(tensors[1].1.to_vec::<i64>().unwrap(), [0, 3, 6, 9]);
}

#[test]
fn npz_files_read_back() {
    let folder = Folder::new();
    let path = folder.path("a.npz");
    let tensors: Vec<(String, Tensor)> =
        [DType::Bool, DType::U8, DType::I64, DType::F16, DType::F64]
            .map(|dtype| {
                (dtype.to_string(), Tensor::from_f64s(dtype, &[1.0, 0.0, 1.0], &[3]).unwrap())
            })
            .into();
    let listed: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, x)| (name.as_str(), x)).collect();
    npz::write(&path, &listed).unwrap();
    for ((name, x), (found, y)) in tensors.iter().zip(npz::read(&path).unwrap()) {
        assert_eq!((name, x.as_bytes(), x.ty()), (&found, y.as_bytes(), y.ty()));
    }
    let x = Tensor::scalar(1.0_f32);
    assert!(npz::write(&path, &[("x", &x), ("x", &x)]).is_err());
    assert!(npz::write(&path, &[("x", &x.cast(DType::BF16).unwrap())]).is_err());
    assert_eq!(npz::read(&path).unwrap().len(), 5);
}

#[test]
fn damaged_npz_files_are_refused() {
    let bytes = std::fs::read(golden("packed.npz")).unwrap();
    for at in 0..bytes.len() {
        assert!(npz::read_input(&Input::memory("x", bytes[..at].to_vec())).is_err(), "{at}");
    }
    let mut damaged = bytes.clone();
    let at = bytes.windows(4).position(|four| four == b"PK\x03\x04").unwrap() + 70;
    damaged[at] ^= 0x55;
    let message = error(npz::read_input(&Input::memory("x", damaged)));
    assert!(message.starts_with("`x`: byte 0, in `x.npy`: "), "{message}");
}

#[test]
fn idx_files_are_images_and_labels() {
    let data = opened("idx", &["images.idx", "labels.idx.gz"], &Settings::new()).unwrap();
    assert_eq!(shown(data.fields()), ["image: u8[4, 3]", "label: u8[]"]);
    let batch = data.gather(&[4, 1]).unwrap();
    assert_eq!(batch[1].to_vec::<u8>().unwrap(), [0, 3]);
    assert_eq!(batch[0].to_vec::<u8>().unwrap()[..3], [48, 49, 50]);
    let floats = opened("idx", &["floats.idx"], &Settings::new()).unwrap();
    assert_eq!(f32s(&floats.gather(&[1, 0]).unwrap()[0]), [3.0, 4.0, 1.5, -2.0]);
    let shorts = opened("idx", &["shorts.idx"], &Settings::new()).unwrap();
    assert_eq!(shorts.gather(&[0, 2]).unwrap()[0].to_vec::<i16>().unwrap(), [-1, 300]);
    let message = error(opened("idx", &["images.idx", "shorts.idx"], &Settings::new()));
    assert!(message.contains("has 5 samples in `image`, but 3 in `label`"), "{message}");
    let short = Input::memory("i", vec![0, 0, 8, 1, 0, 0, 0, 9, 1]);
    let message = error(open_inputs("idx", vec![short], &Settings::new()));
    assert_eq!(
        message,
        "`i`: byte 4, in the head: elements of the sizes [9] are expected, but 1 bytes follow"
    );
}

#[test]
fn lines_are_bytes() {
    let data = memory("lines", "one\r\n\nlast", &[]).unwrap();
    assert_eq!((data.len(), shown(data.fields())), (3, vec!["text: u8[length]".to_string()]));
    let line = |i| data.get(i).unwrap()[0].to_vec::<u8>().unwrap();
    assert_eq!((line(0), line(1), line(2)), (b"one".to_vec(), Vec::new(), b"last".to_vec()));
    assert_eq!(memory("text", "", &[]).unwrap().len(), 0);
}

#[test]
fn csv_columns_are_fields() {
    let text = "age,\"na\"\"me\",score\n3,\"a, b\",0.5\n\n4,\"two\nlines\",\n-5,c,1e3\n";
    let data = memory("csv", text, &[]).unwrap();
    assert_eq!(shown(data.fields()), ["age: i64[]", "na\"me: u8[length1]", "score: f32[]"]);
    assert_eq!(data.len(), 3);
    let second = data.get(1).unwrap();
    assert_eq!(second[0].item::<i64>().unwrap(), 4);
    assert_eq!(second[1].to_vec::<u8>().unwrap(), b"two\nlines");
    assert!(second[2].item::<f32>().unwrap().is_nan());
    let chosen = settings(&[
        ("columns", Setting::List(vec![Setting::Text("score".into()), Setting::Int(0)])),
        ("dtype", texts(&["f64", "i8"])),
        ("missing", Setting::Float(-1.0)),
    ]);
    let input = Input::memory("x", text.as_bytes().to_vec());
    let data = open_inputs("csv", vec![input], &chosen).unwrap();
    assert_eq!(shown(data.fields()), ["score: f64[]", "age: i8[]"]);
    let batch = data.gather(&[2, 1]).unwrap();
    assert_eq!(batch[0].to_vec::<f64>().unwrap(), [1000.0, -1.0]);
    assert_eq!(batch[1].to_vec::<i8>().unwrap(), [-5, 4]);
}

#[test]
fn csv_columns_are_put_together() {
    let text = "1;2;3\n4;5;6";
    let given = [
        ("delimiter", Setting::Text(";".into())),
        ("shape", shapes(&[&[2], &[1]])),
        ("dtype", texts(&["float32", "int64"])),
        ("names", texts(&["x", "y"])),
    ];
    let data = memory("csv", text, &given).unwrap();
    assert_eq!(
        (data.len(), shown(data.fields())),
        (2, vec!["x: f32[2]".into(), "y: i64[1]".into()])
    );
    let batch = data.gather(&[1, 0]).unwrap();
    assert_eq!(f32s(&batch[0]), [4.0, 5.0, 1.0, 2.0]);
    let mixed = memory("csv", "1,2.5,3\n4,5,6", &[("shape", shapes(&[&[2], &[1]]))]).unwrap();
    assert_eq!(shown(mixed.fields()), ["0: f32[2]", "1: i64[1]"]);
    let message = error(memory("csv", text, &[given[0].clone(), ("shape", shapes(&[&[2], &[2]]))]));
    assert!(message.contains("3 columns are read, but the declared sizes [[2], [2]]"), "{message}");
}

#[test]
fn paths_show_their_formats() {
    let cases = [
        ("a/b.recordio", "records"),
        ("x.NPY", "npy"),
        ("x.npz", "npz"),
        ("x.csv.gz", "csv"),
        ("x.tsv", "csv"),
        ("t10k-labels-idx1-ubyte", "idx"),
        ("x.idx.gz", "idx"),
        ("a.txt", "lines"),
        ("a.parquet", "parquet"),
        ("a.feather", "arrow"),
    ];
    for (path, format) in cases {
        assert_eq!(format_of(path).unwrap(), format, "{path}");
    }
    assert_eq!(format_of(golden("").trim_end_matches('/')).unwrap(), "images");
    assert!(
        error(format_of("a.b/readme")).starts_with("the ending of `a.b/readme` shows no format")
    );
    let tabs = Input::memory("x.tsv", b"1\t2\n".to_vec());
    let data = open_inputs("csv", vec![tabs], &Settings::new()).unwrap();
    assert_eq!(shown(data.fields()), ["0: i64[]", "1: i64[]"]);
}

#[test]
fn csv_faults_have_line_and_column() {
    let first = |text: &str, given: &[(&str, Setting)]| {
        memory("csv", text, given)
            .and_then(|data| (0..data.len()).try_for_each(|i| data.get(i).map(drop)))
    };
    let i64s = [("dtype", texts(&["i64"]))];
    let cases: [(&str, &str); 6] = [
        ("a,b\n1,2\n3,x\n", "`x.txt`: line 3, column 2 (`b`): `x` is not i64"),
        ("a,b\n1,2\n\n3\n", "`x.txt`: line 4: 2 cells are expected, but there are 1"),
        (
            "a,b\n1,2\n3,\n",
            "`x.txt`: line 3, column 2 (`b`): the cell is empty, and i64 has no number for that; give `missing`",
        ),
        ("a,b\n1,\"2\n", "`x.txt`: line 2: a quote is opened here or later, and not closed"),
        (
            "a,b\n1,\"2\"3\n",
            "`x.txt`: line 2, column 2 (`b`): after the closing quote a delimiter is expected",
        ),
        (
            "a,b\n1,9223372036854775808\n",
            "`x.txt`: line 2, column 2 (`b`): `9223372036854775808` is not i64",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(error(first(text, &i64s)), expected);
    }
    let column = [("columns", texts(&["c"]))];
    assert_eq!(
        error(first("a,b\n1,2\n", &column)),
        "`x.txt`: there is no column `c`\n  remedy: it has: a, b"
    );
    assert!(error(first("", &[])).contains("there is no record"));
}

#[test]
fn formats_that_are_not_known_are_refused() {
    let message = error(open("pickle", &["x".into()], &Settings::new()));
    assert!(
        message.starts_with("the format `pickle` is not known\n  remedy: use one of records"),
        "{message}"
    );
    assert!(
        error(open_inputs("npy", Vec::new(), &Settings::new())).starts_with("no file was given")
    );
}

#[cfg(feature = "images")]
mod images {
    use super::*;
    use fluvial_data::formats::images;

    fn decode(name: &str, channels: usize) -> Tensor {
        images::decode(&Input::open(&golden(name)).unwrap(), channels).unwrap()
    }

    fn pixel(image: &Tensor, row: usize, column: usize) -> Vec<u8> {
        let pixel = image.index(0, row).unwrap().index(0, column).unwrap();
        pixel.to_vec::<u8>().unwrap()
    }

    #[test]
    fn pixels_are_those_of_the_file() {
        for name in ["rgb.png", "palette.png", "rgba.png"] {
            let image = decode(name, 3);
            assert_eq!(image.dims(), [4, 6, 3]);
            if name != "palette.png" {
                assert_eq!(pixel(&image, 2, 5), [200, 120, 100]);
            }
        }
        assert_eq!(pixel(&decode("rgba.png", 4), 2, 5), [200, 120, 100, 7]);
        assert_eq!(pixel(&decode("rgb.png", 4), 0, 1), [40, 0, 100, 255]);
        assert_eq!(pixel(&decode("rgb.png", 1), 2, 5), [142]);
        assert_eq!(pixel(&decode("gray.png", 3), 1, 4), [160, 160, 160]);
        assert_eq!(pixel(&decode("bits.png", 1), 1, 4), [255]);
        let jpeg = decode("flat.jpg", 3);
        assert_eq!(jpeg.dims(), [9, 17, 3]);
        for (found, expected) in pixel(&jpeg, 8, 16).into_iter().zip([200_u8, 30, 60]) {
            assert!(found.abs_diff(expected) <= 2, "{found} for {expected}");
        }
        assert!(pixel(&decode("gray.jpg", 1), 7, 7)[0].abs_diff(90) <= 1);
        assert_eq!(decode("gray.jpg", 3).dims(), [8, 8, 3]);
        assert_eq!(decode("flat.jpg", 1).dims(), [9, 17, 1]);
    }

    #[test]
    fn cut_images_are_refused() {
        for name in ["rgb.png", "flat.jpg", "gray.jpg"] {
            let bytes = std::fs::read(golden(name)).unwrap();
            for len in 0..bytes.len() - 12 {
                let input = Input::memory("x", bytes[..len].to_vec());
                assert!(images::decode(&input, 3).is_err(), "{name} cut to {len} bytes");
            }
        }
    }

    #[test]
    fn folders_are_classes() {
        let folder = Folder::new();
        for (class, name, from) in [
            ("cat", "1.png", "rgb.png"),
            ("dog", "2.jpg", "flat.jpg"),
            ("cat", "0.PNG", "rgba.png"),
        ] {
            std::fs::create_dir_all(folder.path(class)).unwrap();
            std::fs::copy(golden(from), folder.path(&format!("{class}/{name}"))).unwrap();
        }
        folder.write("cat/notes.txt", b"no image");
        let path: Arc<str> = folder.path("").trim_end_matches('/').into();
        assert_eq!(images::classes(&path).unwrap(), ["cat", "dog"]);
        let data = open("images", std::slice::from_ref(&path), &Settings::new()).unwrap();
        assert_eq!(shown(data.fields()), ["image: u8[h, w, 3]", "label: i64[]"]);
        assert_eq!(data.len(), 3);
        let batch = data.gather(&[1, 0]).unwrap();
        assert_eq!(
            (batch[0].dims(), batch[1].to_vec::<i64>().unwrap()),
            (&[2, 4, 6, 3][..], vec![0, 0])
        );
        assert_eq!(data.get(2).unwrap()[1].item::<i64>().unwrap(), 1);
        let message = error(data.gather(&[0, 2]));
        assert!(message.contains("[4, 6, 3] and [9, 17, 3]"), "{message}");
        let declared = settings(&[("shape", shapes(&[&[4, 6, 3], &[]]))]);
        let data = open("images", &[path], &declared).unwrap();
        assert_eq!(shown(data.fields())[0], "image: u8[4, 6, 3]");
        assert!(error(data.get(2)).contains("a sample has the sizes [9, 17, 3]"));
    }

    #[test]
    fn a_link_out_of_the_folder_is_not_followed() {
        #[cfg(unix)]
        {
            let folder = Folder::new();
            std::fs::create_dir_all(folder.path("cat")).unwrap();
            let secret =
                std::env::temp_dir().join(format!("fluvial-secret-{}.png", std::process::id()));
            std::fs::copy(golden("rgb.png"), &secret).unwrap();
            std::os::unix::fs::symlink(&secret, folder.path("cat/a.png")).unwrap();
            let path: Arc<str> = folder.path("").trim_end_matches('/').into();
            let data = open("images", &[path], &Settings::new()).unwrap();
            let message = error(data.get(0));
            assert!(message.contains("may not touch"), "{message}");
            std::fs::remove_file(secret).unwrap();
        }
    }
}
