//! Blocks of quantised numbers, as GGUF files have them, made floats.

use fluvial_core::{DType, Error, ErrorKind, Result};

/// A form in which numbers lie in a GGUF file.
#[derive(Clone, Copy)]
pub struct Form {
    /// Its number and name there.
    pub number: u32,
    pub name: &'static str,
    /// How many elements a block has, and how many bytes.
    pub elements: usize,
    pub bytes: usize,
    /// What becomes of it.
    pub dtype: DType,
    /// Writes the elements of a block; nothing if bytes stay as they are.
    pub open: Option<fn(&[u8], &mut [f32])>,
}

const fn plain(number: u32, name: &'static str, bytes: usize, dtype: DType) -> Form {
    Form { number, name, elements: 1, bytes, dtype, open: None }
}

const fn blocks(
    number: u32,
    name: &'static str,
    elements: usize,
    bytes: usize,
    open: fn(&[u8], &mut [f32]),
) -> Form {
    Form { number, name, elements, bytes, dtype: DType::F32, open: Some(open) }
}

const FORMS: [Form; 16] = [
    plain(0, "F32", 4, DType::F32),
    plain(1, "F16", 2, DType::F16),
    blocks(2, "Q4_0", 32, 18, q4_0),
    blocks(3, "Q4_1", 32, 20, q4_1),
    blocks(6, "Q5_0", 32, 22, q5_0),
    blocks(7, "Q5_1", 32, 24, q5_1),
    blocks(8, "Q8_0", 32, 34, q8_0),
    blocks(12, "Q4_K", 256, 144, q4_k),
    blocks(13, "Q5_K", 256, 176, q5_k),
    blocks(14, "Q6_K", 256, 210, q6_k),
    plain(24, "I8", 1, DType::I8),
    plain(25, "I16", 2, DType::I16),
    plain(26, "I32", 4, DType::I32),
    plain(27, "I64", 8, DType::I64),
    plain(28, "F64", 8, DType::F64),
    plain(30, "BF16", 2, DType::BF16),
];

/// The form of that number.
pub fn form(number: u32) -> Result<Form> {
    FORMS.into_iter().find(|form| form.number == number).ok_or_else(|| {
        let names = FORMS.map(|form| form.name).join(", ");
        Error::new(ErrorKind::File, format!("numbers of the kind {number} are not read"))
            .remedy(format!("convert the file to one of {names}"))
    })
}

fn half(bytes: &[u8]) -> f32 {
    half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()
}

/// Halves of bytes: the low ones are the first elements of a block, the high ones the others.
fn nibbles(bytes: &[u8], to: &mut [f32], f: impl Fn(usize, u8) -> f32) {
    let half = bytes.len();
    for (j, &byte) in bytes.iter().enumerate() {
        to[j] = f(j, byte & 0xf);
        to[j + half] = f(j + half, byte >> 4);
    }
}

fn q4_0(from: &[u8], to: &mut [f32]) {
    let d = half(from);
    nibbles(&from[2..18], to, |_, q| (f32::from(q) - 8.0) * d);
}

fn q4_1(from: &[u8], to: &mut [f32]) {
    let (d, m) = (half(from), half(&from[2..]));
    nibbles(&from[4..20], to, |_, q| f32::from(q) * d + m);
}

/// The fifth bit of an element.
fn fifth(bits: &[u8], i: usize) -> u8 {
    (bits[i / 8] >> (i % 8) & 1) << 4
}

fn q5_0(from: &[u8], to: &mut [f32]) {
    let (d, bits) = (half(from), &from[2..6]);
    nibbles(&from[6..22], to, |i, q| (f32::from(q | fifth(bits, i)) - 16.0) * d);
}

fn q5_1(from: &[u8], to: &mut [f32]) {
    let (d, m, bits) = (half(from), half(&from[2..]), &from[4..8]);
    nibbles(&from[8..24], to, |i, q| f32::from(q | fifth(bits, i)) * d + m);
}

fn q8_0(from: &[u8], to: &mut [f32]) {
    let d = half(from);
    for (to, &q) in to.iter_mut().zip(&from[2..34]) {
        *to = f32::from(q as i8) * d;
    }
}

/// The scale and the least value of a part of a block, in six bits each.
fn scale_and_least(j: usize, packed: &[u8]) -> (f32, f32) {
    let (scale, least) = match j < 4 {
        true => (packed[j] & 63, packed[j + 4] & 63),
        false => (
            packed[j + 4] & 0xf | (packed[j - 4] >> 6) << 4,
            packed[j + 4] >> 4 | (packed[j] >> 6) << 4,
        ),
    };
    (f32::from(scale), f32::from(least))
}

/// Eight parts of 32 elements; `more` adds a fifth bit.
fn k_parts(from: &[u8], low: &[u8], to: &mut [f32], more: impl Fn(usize, usize) -> u8) {
    let (d, least, packed) = (half(from), half(&from[2..]), &from[4..16]);
    for part in 0..8 {
        let (scale, min) = scale_and_least(part, packed);
        let (scale, min) = (d * scale, least * min);
        let bytes = &low[part / 2 * 32..][..32];
        for (l, (to, &byte)) in to[part * 32..][..32].iter_mut().zip(bytes).enumerate() {
            let q = if part % 2 == 0 { byte & 0xf } else { byte >> 4 };
            *to = scale * f32::from(q + more(part, l)) - min;
        }
    }
}

fn q4_k(from: &[u8], to: &mut [f32]) {
    k_parts(from, &from[16..144], to, |_, _| 0);
}

fn q5_k(from: &[u8], to: &mut [f32]) {
    let high = &from[16..48];
    k_parts(from, &from[48..176], to, |part, l| (high[l] >> part & 1) << 4);
}

fn q6_k(from: &[u8], to: &mut [f32]) {
    let d = half(&from[208..]);
    for (n, to) in to.chunks_exact_mut(128).enumerate() {
        let (low, high) = (&from[n * 64..][..64], &from[128 + n * 32..][..32]);
        let scales = &from[192 + n * 8..][..8];
        for (i, to) in to.iter_mut().enumerate() {
            let (quarter, l) = (i / 32, i % 32);
            let byte = low[l + 32 * (quarter % 2)];
            let bits = if quarter < 2 { byte & 0xf } else { byte >> 4 };
            let q = bits | (high[l] >> (2 * quarter) & 3) << 4;
            let scale = f32::from(scales[l / 16 + 2 * quarter] as i8);
            *to = d * scale * (f32::from(q) - 32.0);
        }
    }
}
