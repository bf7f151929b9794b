//! The stages that edit images: sizes, values, and the same random numbers wherever a reader starts.

use fluvial_data::reader::Edit;
use fluvial_data::{Position, Reader, Sample};
use fluvial_tensor::{DType, Tensor};

/// Five rows and seven columns of grey.
fn grey(dtype: DType) -> Tensor {
    let pixel = |i: usize, j: usize| ((7 * i * i + 13 * j + 5 * i * j) % 251) as f64;
    let pixels: Vec<f64> = (0..35).map(|n| pixel(n / 7, n % 7)).collect();
    Tensor::from_f64s(dtype, &pixels, &[1, 5, 7]).unwrap()
}

/// The only sample of a reader of one image.
fn edited(image: Tensor, stages: &str) -> Result<Tensor, String> {
    let reader = Reader::of([("x", image)]).unwrap();
    let stages: Reader = format!("memory(\"\").{stages}").parse().map_err(|e| format!("{e}"))?;
    let reader = stages.stages().iter().cloned().fold(reader, Reader::then);
    let told = |error: fluvial_tensor::Error| error.to_string();
    let declared = reader.open().map_err(told)?.fields()[0].ty;
    let mut results = reader.iter().map_err(told)?;
    let x = results.next().unwrap().map_err(told)?.remove(0);
    assert_eq!(x.dtype(), declared.dtype());
    assert!(
        x.dims()
            .iter()
            .zip(declared.dims())
            .all(|(&size, dim)| dim.value().is_none_or(|n| n == size))
    );
    Ok(x)
}

/// Compared with PyTorch's `interpolate(mode="bilinear", antialias=True)`.
#[test]
fn images_are_resized_as_others_do() {
    let check = |stage: &str, expected: &[f64]| {
        let found = edited(grey(DType::F32), stage).unwrap().to_f64s();
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 2e-3, "{stage}: {found:?}");
        }
    };
    check(
        r#"resize("x", 3, 4)"#,
        &[
            10.932, 34.497, 62.36, 85.925, 43.159, 78.951, 121.271, 157.063, 107.163, 155.183,
            183.274, 123.381,
        ],
    );
    check(
        r#"resize("x", 2, 7)"#,
        &[
            12.091, 30.091, 48.091, 66.091, 84.091, 102.091, 120.091, 68.091, 96.091, 124.091,
            152.091, 180.091, 128.227, 156.227,
        ],
    );
    check(r#"resize("x", 8, 9).center_crop("x", 1, 3)"#, &[93.521, 112.625, 131.729]);
    let bytes = edited(grey(DType::U8), r#"resize("x", 3, 4)"#).unwrap();
    assert_eq!(
        bytes.to_vec::<u8>().unwrap(),
        [11, 34, 62, 86, 43, 79, 121, 157, 107, 155, 183, 123]
    );
    let nearest = edited(grey(DType::U8), r#"resize("x", 1, 7, nearest=true)"#).unwrap();
    assert_eq!(
        nearest.to_f64s(),
        edited(grey(DType::U8), r#"center_crop("x", 1, 7)"#).unwrap().to_f64s()
    );
}

#[test]
fn the_shorter_side_sets_the_size() {
    let sizes = |stage: &str| edited(grey(DType::U8), stage).unwrap().dims().to_vec();
    assert_eq!(sizes(r#"resize("x", 10)"#), [10, 14]);
    assert_eq!(sizes(r#"resize("x", 5)"#), [5, 7]);
    assert_eq!(sizes(r#"resize("x", 3)"#), [3, 4]);
}

#[test]
fn crops_take_what_is_there() {
    let image = grey(DType::I32).cast(DType::U8).unwrap();
    let middle = edited(image.clone(), r#"center_crop("x", 3, 5)"#).unwrap();
    let expected = image.index(0, 0).unwrap().slice(0, 1, 3, 1).unwrap().slice(1, 1, 5, 1).unwrap();
    assert!(middle.bitwise_eq(&expected.contiguous().unwrap()));
    // With a border, every part is one of the image with zeros around it.
    let crop = edited(image.clone(), r#"random_crop("x", 9, 11, padding=2)"#).unwrap();
    let inner = crop.slice(0, 2, 5, 1).unwrap().slice(1, 2, 7, 1).unwrap().contiguous().unwrap();
    assert!(inner.bitwise_eq(&image.index(0, 0).unwrap().contiguous().unwrap()));
    assert_eq!(crop.get_f64(&[0, 0]).unwrap() + crop.get_f64(&[8, 10]).unwrap(), 0.0);
    let part = edited(image, r#"random_resized_crop("x", 6, 6, scale=[0.3, 0.6])"#).unwrap();
    assert_eq!(part.dims(), [6, 6]);
}

#[test]
fn colours_change_as_said() {
    let pixel = |rgb: [f32; 3]| Tensor::from_slice(&rgb, &[1, 1, 1, 3]).unwrap();
    let orange = pixel([0.8, 0.3, 0.1]);
    let mean = edited(orange.clone(), r#"normalize("x", mean=[0.5, 0.1, 0.1], std=[0.1, 0.2, 1])"#);
    let found = mean.unwrap().to_f64s();
    for (a, b) in found.iter().zip([3.0, 1.0, 0.0]) {
        assert!((a - b).abs() < 1e-5, "{found:?}");
    }
    let one = edited(orange.clone(), r#"normalize("x", mean=[0.3], std=[0.5])"#).unwrap().to_f64s();
    assert!((one[0] - 1.0).abs() < 1e-6 && one[1].abs() < 1e-6);
    // Nothing asked for, nothing changed.
    let same = edited(orange.clone(), r#"color_jitter("x")"#).unwrap();
    assert!(same.bitwise_eq(&orange.index(0, 0).unwrap().contiguous().unwrap()));
    // A turned hue keeps the largest and the smallest of the colours.
    let turned = edited(orange.clone(), r#"color_jitter("x", hue=0.5, seed=3)"#).unwrap().to_f64s();
    let (most, least) =
        (turned.iter().cloned().fold(0.0, f64::max), turned.iter().cloned().fold(1.0, f64::min));
    assert!(
        (most - 0.8).abs() < 1e-6 && (least - 0.1).abs() < 1e-6 && turned[0] < 0.79,
        "{turned:?}"
    );
    let bright = edited(orange, r#"color_jitter("x", brightness=0.5, seed=1)"#).unwrap().to_f64s();
    assert!((bright[0] / bright[2] - 8.0).abs() < 1e-4 || bright[0] == 1.0, "{bright:?}");
}

#[test]
fn channels_come_first() {
    let image = Tensor::from_vec((0..24_u8).collect(), &[1, 2, 4, 3]).unwrap();
    let x = edited(image, r#"channels_first("x")"#).unwrap();
    assert_eq!((x.dims(), x.get_f64(&[2, 1, 3]).unwrap()), (&[3, 2, 4][..], 23.0));
}

fn many() -> Reader {
    let pixels: Vec<u8> = (0..20 * 6 * 6 * 3).map(|i| (i * 7 % 256) as u8).collect();
    let stages: Reader = concat!(
        r#"memory("").shuffle(3).random_crop("x", 5, 5, padding=1, seed=1).flip("x", seed=2)"#,
        r#".color_jitter("x", brightness=0.3, contrast=0.2, saturation=0.4, hue=0.1, seed=3)"#,
        r#".random_resized_crop("x", 4, 4, seed=4).normalize("x", mean=[9, 8, 7], std=[1, 2, 3])"#,
        r#".channels_first("x").batch(3).prefetch(2)"#
    )
    .parse()
    .unwrap();
    let reader = Reader::of([("x", Tensor::from_vec(pixels, &[20, 6, 6, 3]).unwrap())]).unwrap();
    stages.stages().iter().cloned().fold(reader, Reader::then)
}

fn rest(reader: &Reader, epoch: u64, index: u64) -> Vec<Sample> {
    let mut cursor = reader.open().unwrap().start(Position { epoch, index }).unwrap();
    std::iter::from_fn(|| cursor.next().unwrap()).collect()
}

fn is_same(a: &[Sample], b: &[Sample]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a[0].bitwise_eq(&b[0]))
}

#[test]
fn a_reader_that_starts_anywhere_gives_the_same_images() {
    let reader = many();
    let whole = rest(&reader, 1, 0);
    assert_eq!(whole.len(), 7);
    for index in 0..7 {
        assert!(is_same(&rest(&many(), 1, index), &whole[index as usize..]), "from {index}");
    }
    assert!(!is_same(&rest(&reader, 2, 0), &whole), "another pass has other random numbers");
    // Read back from text, and one by one behind a window: still the same ways to draw.
    let again: Reader = reader.to_string().parse().unwrap();
    assert!(is_same(&rest(&again, 1, 2), &whole[2..]));
}

#[test]
fn half_of_the_images_are_mirrored() {
    let image: Vec<u8> = (0..400).flat_map(|_| [0, 1]).collect();
    let x = Tensor::from_vec(image, &[400, 1, 2]).unwrap();
    let flipped =
        Reader::of([("x", x)]).unwrap().edit("x", Edit::Flip { p: 0.5, vertical: false, seed: 5 });
    let n: f64 = flipped.iter().unwrap().map(|sample| sample.unwrap()[0].to_f64s()[0]).sum();
    assert!((150.0..250.0).contains(&n), "{n}");
}

#[test]
fn what_is_no_image_is_refused() {
    let refused = |image: Tensor, stage: &str, text: &str| {
        let error = edited(image, stage).unwrap_err();
        assert!(error.contains(text), "{error}");
    };
    let batch = || Tensor::zeros(DType::U8, &[1, 2, 8, 8, 3]).unwrap();
    refused(batch(), r#"flip("x")"#, "put the stage before `batch`");
    refused(grey(DType::I64), r#"flip("x")"#, "of u8 or floats");
    refused(grey(DType::U8), r#"center_crop("x", 6, 6)"#, "has no part of 6 by 6");
    refused(grey(DType::U8), r#"random_crop("x", 9, 9, padding=1)"#, "give a padding");
    refused(grey(DType::U8), r#"color_jitter("x", hue=0.6)"#, "from 0 to 0.5");
    refused(grey(DType::U8), r#"color_jitter("x", hue=0.1)"#, "1, 3 or 4 channels");
    refused(grey(DType::U8), r#"normalize("x", mean=[1, 2], std=[1, 2])"#, "2 means are given");
    refused(grey(DType::U8), r#"normalize("x", mean=[1], std=[0])"#, "not 0");
    refused(grey(DType::U8), r#"channels_first("x")"#, "has no channels");
    refused(grey(DType::U8), r#"resize("x", 0)"#, "between 1 and");
    refused(grey(DType::U8), r#"resize("x", 99999999)"#, "between 1 and");
    refused(grey(DType::U8), r#"random_resized_crop("x", 2, 2, scale=[1])"#, "two numbers");
    refused(
        grey(DType::U8),
        r#"random_resized_crop("x", 2, 2, scale=[0.9, 0.1])"#,
        "smaller number first",
    );
    refused(grey(DType::U8), r#"crop("x", 2, 2)"#, "there is no stage `crop`");
    let empty = Tensor::zeros(DType::U8, &[1, 0, 4]).unwrap();
    refused(empty, r#"resize("x", 2, 2)"#, "without pixels");
}
