//! Images on their way into a batch: resized, cropped, flipped, recoloured, normalised.
//!
//! Images are `[height, width]` or `[height, width, channels]`, of `u8` or floats. What is random is a
//! function of the seed, the number of the pass and that of the result, so a reader that starts anywhere
//! gives the same images.

mod colour;
mod resample;

use fluvial_tensor::{DType, Dim, Error, Result, Tensor, Type};

use super::access::Place;
use super::permutation::Random;
use super::stack::filled;

/// What is done with an image.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the methods of `Reader` document the arguments")]
pub enum Edit {
    /// Another size; with `width` left out, `height` is that of the shorter side.
    Resize { height: u64, width: Option<u64>, nearest: bool },
    /// The middle.
    CenterCrop { height: u64, width: u64 },
    /// A random part, of the image with a border of zeros.
    RandomCrop { height: u64, width: u64, padding: u64, seed: u64 },
    /// A random part of random size and shape, resized.
    RandomResizedCrop { height: u64, width: u64, scale: [f64; 2], ratio: [f64; 2], seed: u64 },
    /// Mirrored, with a probability.
    Flip { p: f64, vertical: bool, seed: u64 },
    /// Random changes of colour.
    ColorJitter { brightness: f64, contrast: f64, saturation: f64, hue: f64, seed: u64 },
    /// Each channel less its mean, divided by its deviation.
    Normalize { mean: Vec<f64>, std: Vec<f64> },
    /// `[channels, height, width]`.
    ChannelsFirst,
}

/// The longest side of an image that is made.
const MAX_SIDE: u64 = 1 << 15;

/// How often a random shape is tried before the middle is taken.
const TRIES: usize = 10;

impl Edit {
    /// The word that it is written as.
    pub fn name(&self) -> &'static str {
        match self {
            Edit::Resize { .. } => "resize",
            Edit::CenterCrop { .. } => "center_crop",
            Edit::RandomCrop { .. } => "random_crop",
            Edit::RandomResizedCrop { .. } => "random_resized_crop",
            Edit::Flip { .. } => "flip",
            Edit::ColorJitter { .. } => "color_jitter",
            Edit::Normalize { .. } => "normalize",
            Edit::ChannelsFirst => "channels_first",
        }
    }

    /// What can be said without knowing the image.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Edit::Resize { height, width, .. } => {
                side(*height).and_then(|()| side(width.unwrap_or(*height)))
            }
            Edit::CenterCrop { height, width } => side(*height).and_then(|()| side(*width)),
            Edit::RandomCrop { height, width, padding, .. } => side(*height)
                .and_then(|()| side(*width))
                .and_then(|()| side(padding.saturating_add(1))),
            Edit::RandomResizedCrop { height, width, scale, ratio, .. } => {
                side(*height).and_then(|()| side(*width))?;
                interval("scale", *scale, 1.0)?;
                interval("ratio", *ratio, f64::from(u16::MAX))
            }
            Edit::Flip { p, .. } => between("p", *p, 1.0),
            Edit::ColorJitter { brightness, contrast, saturation, hue, .. } => {
                let most = f64::from(u8::MAX);
                between("brightness", *brightness, most)?;
                between("contrast", *contrast, most)?;
                between("saturation", *saturation, most)?;
                between("hue", *hue, 0.5)
            }
            Edit::Normalize { mean, std } => check_statistics(mean, std),
            Edit::ChannelsFirst => Ok(()),
        }
    }

    /// The type of the result.
    pub(super) fn infer(&self, field: &str, ty: Type) -> Result<Type> {
        if !(2..=3).contains(&ty.rank()) {
            let fault = format!(
                "field `{field}` is {ty}, but an image is [height, width] or [height, width, channels]"
            );
            return Err(Error::shape(fault).remedy("put the stage before `batch`"));
        }
        if ty.dtype() != DType::U8 && !ty.dtype().is_float() {
            let fault = format!("field `{field}` is {ty}, but an image is of u8 or floats");
            return Err(Error::dtype(fault).remedy("`cast` it before"));
        }
        let sized = |height: u64, width: u64| {
            let mut dims = ty.dims().to_vec();
            (dims[0], dims[1]) = (Dim::size(height as usize), Dim::size(width as usize));
            ty.with_dims(&dims)
        };
        match self {
            Edit::Resize { height, width: Some(width), .. }
            | Edit::CenterCrop { height, width }
            | Edit::RandomCrop { height, width, .. }
            | Edit::RandomResizedCrop { height, width, .. } => sized(*height, *width),
            Edit::Resize { height, width: None, .. } => {
                match (ty.dim(0).value(), ty.dim(1).value()) {
                    (Some(h), Some(w)) if h > 0 && w > 0 => {
                        let (h, w) = shorter(*height as usize, h, w);
                        sized(h as u64, w as u64)
                    }
                    _ => {
                        let mut dims = ty.dims().to_vec();
                        dims[0] = Dim::symbol(&format!("{}_height", symbol_of(field)))?;
                        dims[1] = Dim::symbol(&format!("{}_width", symbol_of(field)))?;
                        ty.with_dims(&dims)
                    }
                }
            }
            Edit::Flip { .. } => Ok(ty),
            Edit::ColorJitter { saturation, hue, .. } => {
                let channels = ty.dims().get(2).and_then(|dim| dim.value());
                match *saturation == 0.0 && *hue == 0.0 || matches!(channels, Some(1 | 3 | 4)) {
                    true => Ok(ty),
                    false => Err(Error::shape(format!(
                        "field `{field}` is {ty}, but saturation and hue are of images with 1, 3 or 4 channels"
                    ))),
                }
            }
            Edit::Normalize { mean, .. } => {
                let channels = ty.dims().get(2).map_or(Some(1), |dim| dim.value());
                match channels == Some(mean.len()) || mean.len() == 1 {
                    true => Ok(ty.with_dtype(super::each::scaled(ty.dtype()))),
                    false => Err(Error::shape(format!(
                        "field `{field}` is {ty}, but {} means are given",
                        mean.len()
                    ))
                    .remedy("give one for each channel; channels are the last axis")),
                }
            }
            Edit::ChannelsFirst => match ty.rank() {
                3 => {
                    let dims = ty.dims();
                    ty.with_dims(&[dims[2], dims[0], dims[1]])
                }
                _ => Err(Error::shape(format!("field `{field}` is {ty}, and has no channels"))),
            },
        }
    }

    /// The result for an image, which is that of a place of the pass.
    pub(super) fn apply(&self, image: &Tensor, place: Place) -> Result<Tensor> {
        let (height, width) = match *image.dims() {
            [height, width, ..] if height > 0 && width > 0 => (height, width),
            _ => return Err(Error::shape(format!("{} is an image without pixels", image.ty()))),
        };
        match self {
            Edit::Resize { height: h, width: w, nearest } => {
                let (h, w) = match w {
                    Some(w) => (*h as usize, *w as usize),
                    None => shorter(*h as usize, height, width),
                };
                side(h as u64).and_then(|()| side(w as u64))?;
                resample::resize(image, h, w, *nearest)
            }
            Edit::CenterCrop { height: h, width: w } => {
                let (h, w) = (*h as usize, *w as usize);
                fits(image, h, w, "resize it before")?;
                part(image, (height - h).div_ceil(2), (width - w).div_ceil(2), h, w)
            }
            Edit::RandomCrop { height: h, width: w, padding, seed } => {
                let (h, w) = (*h as usize, *w as usize);
                let image = bordered(image, *padding as usize)?;
                fits(&image, h, w, "give a padding, or resize it before")?;
                let mut random = Random::at(*seed, 1, place);
                let mut start = |size: usize, of: usize| random.below((of - size + 1) as u64);
                let (top, left) = (start(h, image.dims()[0]), start(w, image.dims()[1]));
                part(&image, top as usize, left as usize, h, w)
            }
            Edit::RandomResizedCrop { height: h, width: w, scale, ratio, seed } => {
                let mut random = Random::at(*seed, 2, place);
                let (top, left, part_h, part_w) =
                    random_part(&mut random, height, width, *scale, *ratio);
                let image = part(image, top, left, part_h, part_w)?;
                resample::resize(&image, *h as usize, *w as usize, false)
            }
            Edit::Flip { p, vertical, seed } => {
                let axis = if *vertical { 0 } else { 1 };
                match Random::at(*seed, 3 + axis as u64, place).unit() < *p {
                    true => {
                        let size = image.dims()[axis];
                        image.slice(axis, size - 1, size, -1)?.contiguous()
                    }
                    false => Ok(image.clone()),
                }
            }
            Edit::ColorJitter { brightness, contrast, saturation, hue, seed } => {
                let mut random = Random::at(*seed, 5, place);
                let mut around = |by: f64| {
                    let least = (1.0 - by).max(0.0);
                    least + random.unit() * (1.0 + by - least)
                };
                let factors = [around(*brightness), around(*contrast), around(*saturation)];
                let turn = (random.unit() * 2.0 - 1.0) * hue;
                colour::changed(image, factors.map(|factor| factor as f32), turn as f32)
            }
            Edit::Normalize { mean, std } => colour::normalized(image, mean, std),
            Edit::ChannelsFirst => image.permute(&[2, 0, 1])?.contiguous(),
        }
    }
}

fn side(size: u64) -> Result<()> {
    match (1..=MAX_SIDE).contains(&size) {
        true => Ok(()),
        false => Err(Error::argument(format!(
            "a side of {size} pixels was asked for, but must be between 1 and {MAX_SIDE}"
        ))),
    }
}

fn between(what: &str, x: f64, most: f64) -> Result<()> {
    match (0.0..=most).contains(&x) {
        true => Ok(()),
        false => Err(Error::argument(format!("`{what}` is {x}, but must be from 0 to {most}"))),
    }
}

fn interval(what: &str, [least, most]: [f64; 2], limit: f64) -> Result<()> {
    match 0.0 < least && least <= most && most <= limit {
        true => Ok(()),
        false => Err(Error::argument(format!(
            "`{what}` goes from {least} to {most}, but must lie above 0 and up to {limit}, the smaller number first"
        ))),
    }
}

fn check_statistics(mean: &[f64], std: &[f64]) -> Result<()> {
    if mean.is_empty() || mean.len() != std.len() {
        let fault = format!("there are {} means and {} deviations", mean.len(), std.len());
        return Err(Error::argument(fault).remedy("give one of each for each channel"));
    }
    match mean.iter().all(|x| x.is_finite()) && std.iter().all(|x| x.is_finite() && *x != 0.0) {
        true => Ok(()),
        false => Err(Error::argument("means must be finite, and deviations finite and not 0")),
    }
}

/// A name of sizes, made of that of a field.
fn symbol_of(field: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name: String = field.chars().map(|c| if is_word(c) { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("image_{name}") }
}

/// The sides of an image whose shorter one becomes `size`.
fn shorter(size: usize, height: usize, width: usize) -> (usize, usize) {
    match height <= width {
        true => (size, size.saturating_mul(width) / height),
        false => (size.saturating_mul(height) / width, size),
    }
}

fn fits(image: &Tensor, height: usize, width: usize, remedy: &str) -> Result<()> {
    match image.dims()[0] >= height && image.dims()[1] >= width {
        true => Ok(()),
        false => Err(Error::shape(format!(
            "an image of {} by {} pixels has no part of {height} by {width}",
            image.dims()[0],
            image.dims()[1]
        ))
        .remedy(remedy)),
    }
}

fn part(image: &Tensor, top: usize, left: usize, height: usize, width: usize) -> Result<Tensor> {
    image.slice(0, top, height, 1)?.slice(1, left, width, 1)?.contiguous()
}

/// The image with zeros around it.
fn bordered(image: &Tensor, by: usize) -> Result<Tensor> {
    if by == 0 {
        return Ok(image.clone());
    }
    let image = image.contiguous()?;
    let mut sizes = image.dims().to_vec();
    (sizes[0], sizes[1]) = (sizes[0] + 2 * by, sizes[1] + 2 * by);
    let mut out = filled(image.dtype(), &sizes, 0.0)?;
    let no_order = || Error::internal("the pixels of an image are not in row-major order");
    let pixel = image.dtype().size() * image.dims()[2..].iter().product::<usize>();
    let (from_row, to_row) = (image.dims()[1] * pixel, sizes[1] * pixel);
    let from = image.as_bytes().ok_or_else(no_order)?;
    let to = out.as_bytes_mut()?;
    for (row, line) in from.chunks_exact(from_row.max(1)).enumerate() {
        let start = (row + by) * to_row + by * pixel;
        to[start..start + from_row].copy_from_slice(line);
    }
    Ok(out)
}

/// Top, left, height and width of a part whose area is a share of the image's, and whose sides have a ratio,
/// both random within limits.
fn random_part(
    random: &mut Random,
    height: usize,
    width: usize,
    scale: [f64; 2],
    ratio: [f64; 2],
) -> (usize, usize, usize, usize) {
    let area = height as f64 * width as f64;
    for _ in 0..TRIES {
        let share = scale[0] + random.unit() * (scale[1] - scale[0]);
        let logs = ratio.map(f64::ln);
        let shape = (logs[0] + random.unit() * (logs[1] - logs[0])).exp();
        let w = (area * share * shape).sqrt().round() as usize;
        let h = (area * share / shape).sqrt().round() as usize;
        if (1..=height).contains(&h) && (1..=width).contains(&w) {
            let top = random.below((height - h + 1) as u64) as usize;
            let left = random.below((width - w + 1) as u64) as usize;
            return (top, left, h, w);
        }
    }
    // The largest middle of an allowed shape.
    let shape = (width as f64 / height as f64).clamp(ratio[0], ratio[1]);
    let w = ((height as f64 * shape).round() as usize).clamp(1, width);
    let h = ((width as f64 / shape).round() as usize).clamp(1, height);
    ((height - h) / 2, (width - w) / 2, h, w)
}
