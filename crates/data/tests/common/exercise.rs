//! Reads whatever bytes there are, as far as a fuzzer has time for. Shared with `fuzz/`.
#![allow(dead_code)]

use fluvial_data::formats::{Input, Settings, npz, open_inputs};
use fluvial_data::{Dataset, npy, safetensors};

/// Opens bytes as a dataset and reads some of its samples. Says whether all of it succeeded.
pub fn dataset(format: &str, bytes: &[u8], settings: &Settings) -> bool {
    let input = Input::memory("x", bytes.to_vec());
    let Ok(data) = open_inputs(format, vec![input], settings) else { return false };
    samples(&*data)
}

/// Reads the first and the last samples.
pub fn samples(data: &dyn Dataset) -> bool {
    let n = data.len();
    let ends = (0..n.min(40)).chain(n.saturating_sub(4).max(40)..n);
    let all = ends.map(|i| data.get(i)).fold(true, |all, sample| {
        if let Ok(sample) = &sample {
            assert_eq!(sample.len(), data.fields().len());
            for (tensor, field) in sample.iter().zip(data.fields()) {
                assert_eq!((tensor.dtype(), tensor.rank()), (field.ty.dtype(), field.ty.rank()));
            }
        }
        all && sample.is_ok()
    });
    let some: Vec<u64> = (0..n.min(6)).rev().collect();
    assert!(data.gather(&[n]).is_err());
    if let Ok(batch) = data.gather(&some) {
        assert!(batch.iter().all(|tensor| tensor.dims()[0] == some.len()));
    }
    all
}

/// A `.npy` file as one tensor.
pub fn one_npy(bytes: &[u8]) -> bool {
    npy::read(&mut &bytes[..], bytes.len() as u64, "x").is_ok()
}

/// All tensors of a `.npz` file.
pub fn all_npz(bytes: &[u8]) -> bool {
    npz::read_input(&Input::memory("x", bytes.to_vec())).is_ok()
}

/// A tensor of a `.safetensors` file.
pub fn one_safetensor(bytes: &[u8]) -> bool {
    let read = |name| safetensors::read(&mut &bytes[..], bytes.len() as u64, name, "x").is_ok();
    read(Some("weight")) | read(None)
}

/// An image with each number of channels.
#[cfg(feature = "images")]
pub fn image(bytes: &[u8]) -> bool {
    let input = Input::memory("x", bytes.to_vec());
    [1, 3, 4].into_iter().all(|channels| {
        fluvial_data::formats::images::decode(&input, channels).is_ok_and(|image| {
            assert_eq!(image.dims()[2], channels);
            true
        })
    })
}
