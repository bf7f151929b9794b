//! The type and the bits of a value as one number.

use fluvial_core::{DType, Tensor, Value};

use super::blocks::each_block;

/// A number that depends on the type and the bits of a value, and on nothing else: not on the layout, the run or the
/// machine. Values with different numbers differ; those with the same number are the same but for an accident.
pub fn hash(value: &Value) -> u64 {
    let mut hasher = Hasher::new();
    hasher.value(value);
    hasher.finish()
}

const LANES: usize = 4;
const CHUNK: usize = 8 * LANES;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Four lanes, so that one multiplication need not wait for the one before.
struct Hasher {
    lanes: [u64; LANES],
    /// What is left of the bytes so far, less than a chunk.
    rest: [u8; CHUNK],
    n_rest: usize,
    n_bytes: u64,
}

impl Hasher {
    fn new() -> Hasher {
        let lanes = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344]
            .map(|x: u64| x.wrapping_mul(FACTOR));
        Hasher { lanes, rest: [0; CHUNK], n_rest: 0, n_bytes: 0 }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Tensor(tensor) => self.tensor(tensor),
            Value::List(list) => {
                self.bytes(&[0xff]);
                self.bytes(&(list.len() as u64).to_le_bytes());
                for element in list.iter() {
                    self.value(element);
                }
            }
            Value::Device(here) => match here.host() {
                Ok(tensor) => self.tensor(tensor),
                Err(_) => self.bytes(format!("{here:?}").as_bytes()),
            },
            Value::Channel(channel) => self.bytes(format!("{channel:?}").as_bytes()),
        }
    }

    fn tensor(&mut self, tensor: &Tensor) {
        self.bytes(&[code(tensor.dtype()), tensor.rank() as u8]);
        for &size in tensor.dims() {
            self.bytes(&(size as u64).to_le_bytes());
        }
        let read = each_block(tensor, &mut |block| {
            self.bytes(block.as_bytes().unwrap_or_default());
            true
        });
        // Without memory for a part the number says so, and is none of a value.
        if read.is_err() {
            self.bytes(b"unread");
        }
    }

    fn bytes(&mut self, mut bytes: &[u8]) {
        self.n_bytes += bytes.len() as u64;
        if self.n_rest > 0 {
            let n = bytes.len().min(CHUNK - self.n_rest);
            self.rest[self.n_rest..self.n_rest + n].copy_from_slice(&bytes[..n]);
            self.n_rest += n;
            bytes = &bytes[n..];
            if self.n_rest < CHUNK {
                return;
            }
            let rest = self.rest;
            self.chunk(&rest);
            self.n_rest = 0;
        }
        let (chunks, rest) = bytes.as_chunks::<CHUNK>();
        for chunk in chunks {
            self.chunk(chunk);
        }
        self.rest[..rest.len()].copy_from_slice(rest);
        self.n_rest = rest.len();
    }

    #[inline(always)]
    fn chunk(&mut self, chunk: &[u8; CHUNK]) {
        let (words, _) = chunk.as_chunks::<8>();
        for (lane, word) in self.lanes.iter_mut().zip(words) {
            let mixed = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR);
            *lane = mixed ^ (mixed >> 29);
        }
    }

    fn finish(mut self) -> u64 {
        let mut last = [0; CHUNK];
        last[..self.n_rest].copy_from_slice(&self.rest[..self.n_rest]);
        self.chunk(&last);
        let start = self.n_bytes.wrapping_mul(FACTOR);
        let joined = self.lanes.iter().fold(start, |all, &lane| mix(all.rotate_left(17) ^ lane));
        mix(joined)
    }
}

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let x = (x ^ (x >> 29)).wrapping_mul(FACTOR);
    x ^ (x >> 32)
}

/// The number of an element type, which stays the same when types are added: hashes are kept in files.
fn code(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        DType::U8 => 1,
        DType::I8 => 2,
        DType::I32 => 3,
        DType::I64 => 4,
        DType::F16 => 5,
        DType::BF16 => 6,
        DType::F32 => 7,
        DType::F64 => 8,
        DType::I16 => 9,
        DType::U16 => 10,
        DType::U32 => 11,
        DType::U64 => 12,
        DType::F8E4M3 => 13,
        DType::F8E5M2 => 14,
        DType::C64 => 15,
        DType::C128 => 16,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use fluvial_core::{DType, List, Type};

    use super::*;

    fn of(tensor: Tensor) -> u64 {
        hash(&tensor.into())
    }

    #[test]
    fn it_is_the_same_for_ever() {
        let tensor = Tensor::from_slice(&[1.0f32, -2.5, 3.0], &[3]).unwrap();
        expect_test::expect!["3d67cb8f0b933bde"].assert_eq(&format!("{:016x}", of(tensor)));
    }

    #[test]
    fn layouts_do_not_matter() {
        for (rows, columns) in [(3, 5), (300, 400), (70_000, 2), (2, 70_000)] {
            let elements: Vec<i32> = (0..rows * columns).map(|i| i * 7919).collect();
            let (rows, columns) = (rows as usize, columns as usize);
            let tensor = Tensor::from_vec(elements, &[rows, columns]).unwrap();
            let turned = tensor.transpose(0, 1).unwrap();
            let copied = Tensor::from_vec(turned.to_vec::<i32>().unwrap(), &[columns, rows]);
            assert_eq!(of(turned.clone()), of(copied.unwrap()));
            assert_ne!(of(turned), of(tensor));
        }
    }

    #[test]
    fn every_bit_and_the_type_matter() {
        let mut seen = HashSet::new();
        for n in [0usize, 1, 2, 7, 8, 9, 31, 32, 33, 100] {
            assert!(seen.insert(of(Tensor::zeros(DType::U8, &[n]).unwrap())));
            assert!(seen.insert(of(Tensor::zeros(DType::I8, &[n]).unwrap())));
            assert!(seen.insert(of(Tensor::zeros(DType::U8, &[n, 1]).unwrap())));
            for i in 0..n {
                for bit in 0..8 {
                    let mut bytes = vec![0u8; n];
                    bytes[i] = 1 << bit;
                    assert!(seen.insert(of(Tensor::from_vec(bytes, &[n]).unwrap())));
                }
            }
        }
        assert_ne!(of(Tensor::scalar(0.0f32)), of(Tensor::scalar(-0.0f32)));
    }

    #[test]
    fn lists_differ_from_their_elements() {
        let one = Value::from(Tensor::scalar(1i64));
        let empty = List::new(Type::scalar(DType::I64)).unwrap();
        let values = [
            one.clone(),
            empty.clone().into(),
            empty.push(one.clone()).into(),
            empty.push(one.clone()).push(one).into(),
        ];
        let hashes: HashSet<u64> = values.iter().map(hash).collect();
        assert_eq!(hashes.len(), 4);
    }
}
