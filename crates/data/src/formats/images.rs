//! PNG and JPEG files: alone, and in folders with a sub-folder for each class.

use std::io::{BufRead, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::columns::{Columns, Wanted};
use super::settings::Given;
use super::{Input, Rows, declare};
use crate::files::{self, io};
use crate::{Dataset, Field};
use fluvial_tensor::{DType, Dim, Error, Result, Tensor, Type, interrupt, memory};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;

/// The bytes of a pixel, at most.
const MOST_CHANNELS: u64 = 4;
/// Images that are larger in one direction are refused.
const MAX_SIDE: usize = 1 << 15;

/// Reads an image as `u8[h, w, channels]`, with 1 (gray), 3 (RGB) or 4 channels (RGB and alpha).
pub fn decode(input: &Input, channels: usize) -> Result<Tensor> {
    let image = Image::decode(input, channels)?;
    Tensor::from_vec(image.pixels, &[image.height, image.width, channels])
}

struct Image {
    height: usize,
    width: usize,
    pixels: Vec<u8>,
}

impl Image {
    fn decode(input: &Input, channels: usize) -> Result<Image> {
        let bytes = input.take(0, input.len())?;
        let (image, found) = match bytes.as_slice() {
            [0x89, b'P', b'N', b'G', ..] => png(input, &bytes)?,
            [0xff, 0xd8, ..] => jpeg(input, &bytes, channels)?,
            _ => return Err(input.fault("byte 0: this is neither a PNG nor a JPEG file")),
        };
        let pixels = convert(image.pixels, found, channels)?;
        Ok(Image { pixels, ..image })
    }
}

/// An image may always take so many bytes, and a larger one so many times the bytes of its file: a byte of deflate
/// stands for at most 1032.
const ALWAYS: u64 = 256 << 20;
const MULTIPLE: u64 = 1032;

/// Refuses sizes that the file cannot have, and those for which there is no room.
fn check_size(input: &Input, width: usize, height: usize, ratio: u64) -> Result<()> {
    let claims = input.len().saturating_mul(ratio).saturating_add(4096);
    let pixels = (width as u64).saturating_mul(height as u64);
    let bytes = pixels.saturating_mul(MOST_CHANNELS);
    let most = input.len().saturating_mul(MULTIPLE).max(ALWAYS);
    if width > MAX_SIDE || height > MAX_SIDE || pixels > claims || bytes > most {
        let len = input.len();
        return Err(input.fault(format!("it claims {width} x {height} pixels in {len} bytes")));
    }
    // It is decoded, and then converted to the channels that are wanted.
    memory::room_for(bytes.saturating_mul(2))
}

/// Bytes that are read in parts, between which one hears whether to stop: a small file may be a large image.
struct Watched<'a> {
    from: Cursor<&'a [u8]>,
    watch: interrupt::Watch,
}

/// The most bytes that are read before looking whether to stop: an image has at most some megabytes for them.
const PART: usize = 4096;

impl BufRead for Watched<'_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.watch.is_over() {
            return Err(std::io::Error::other("stopped"));
        }
        let rest = self.from.fill_buf()?;
        Ok(&rest[..rest.len().min(PART)])
    }

    fn consume(&mut self, n: usize) {
        self.from.consume(n);
    }
}

impl Read for Watched<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let n = self.fill_buf()?.read(to)?;
        self.consume(n);
        Ok(n)
    }
}

impl Seek for Watched<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.from.seek(to)
    }
}

fn png(input: &Input, bytes: &[u8]) -> Result<(Image, usize)> {
    let watch = interrupt::Watch::start();
    let broken = |error: png::DecodingError| match watch.check() {
        Ok(()) => input.fault(format!("this is not a complete PNG file: {error}")),
        Err(stopped) => stopped,
    };
    // What a file has beside its pixels needs no more than that.
    let limits = png::Limits { bytes: 64 << 20 };
    let mut decoder =
        png::Decoder::new_with_limits(Watched { from: Cursor::new(bytes), watch }, limits);
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let header = decoder.read_header_info().map_err(broken)?;
    let (width, height) = (header.width as usize, header.height as usize);
    // A byte of deflate stands for at most 1032, and a byte of a line for at most 8 pixels.
    check_size(input, width, height, 1032 * 8)?;
    let mut reader = decoder.read_info().map_err(broken)?;
    // The decoder takes for granted that colours are whole, and that there are at most 256.
    let palette = reader.info().palette.as_ref().map_or(0, |palette| palette.len());
    if palette % 3 != 0 || palette > 3 * 256 {
        let what = "three for each of at most 256 colours";
        return Err(input.fault(format!("its palette has {palette} bytes, not {what}")));
    }
    let size = reader.output_buffer_size().ok_or_else(|| input.fault("the image is too large"))?;
    let mut pixels = memory::filled(0, size)?;
    let frame = reader.next_frame(&mut pixels).map_err(broken)?;
    let found = frame.color_type.samples();
    pixels.truncate(frame.buffer_size());
    match frame.bit_depth == png::BitDepth::Eight && pixels.len() == width * height * found {
        true => Ok((Image { height, width, pixels }, found)),
        false => Err(input.fault("its first frame does not fill the image")),
    }
}

fn jpeg(input: &Input, bytes: &[u8], channels: usize) -> Result<(Image, usize)> {
    let broken = |error| input.fault(format!("this is not a complete JPEG file: {error:?}"));
    let (space, found) = if channels == 1 { (ColorSpace::Luma, 1) } else { (ColorSpace::RGB, 3) };
    // The decoder forgives what other programs forgive, also an end that is missing.
    let end = &bytes[bytes.len().saturating_sub(4096)..];
    if !end.windows(2).any(|two| two == [0xff, 0xd9]) {
        let len = bytes.len();
        return Err(input.fault(format!("byte {len}: the end of a JPEG file is missing")));
    }
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(MAX_SIDE)
        .set_max_height(MAX_SIDE)
        .jpeg_set_out_colorspace(space);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(broken)?;
    let (width, height) =
        decoder.dimensions().ok_or_else(|| input.fault("the image has no size"))?;
    check_size(input, width, height, 1024)?;
    let pixels = decoder.decode().map_err(broken)?;
    match pixels.len() == width * height * found {
        true => Ok((Image { height, width, pixels }, found)),
        false => Err(input.fault(format!("{found} channels cannot be read from it"))),
    }
}

/// Pixels with another number of channels.
fn convert(pixels: Vec<u8>, found: usize, wanted: usize) -> Result<Vec<u8>> {
    if found == wanted {
        return Ok(pixels);
    }
    let mut converted = memory::reserved(pixels.len() / found * wanted)?;
    let pixel = |pixel: &[u8]| {
        let (rgb, alpha) = match *pixel {
            [gray] => ([gray; 3], 255),
            [gray, alpha] => ([gray; 3], alpha),
            [r, g, b] => ([r, g, b], 255),
            _ => ([pixel[0], pixel[1], pixel[2]], pixel[3]),
        };
        let [r, g, b] = rgb.map(u32::from);
        let gray =
            if found < 3 { rgb[0] } else { ((299 * r + 587 * g + 114 * b + 500) / 1000) as u8 };
        match wanted {
            1 => [gray, 0, 0, 0],
            _ => [rgb[0], rgb[1], rgb[2], alpha],
        }
    };
    converted
        .extend(pixels.chunks_exact(found).flat_map(|one| pixel(one).into_iter().take(wanted)));
    Ok(converted)
}

/// Opens folders. All must have the same classes.
pub(super) fn open(paths: &[Arc<str>], given: &Given<'_>) -> Result<Arc<dyn Dataset>> {
    let channels = given.count("channels", 3)?;
    if ![1, 3, 4].contains(&channels) {
        return Err(given.wrong("channels", "1, 3 or 4"));
    }
    let folders =
        paths.iter().map(|path| Folder::open(path, channels)).collect::<Result<Vec<_>>>()?;
    if let Some(other) = folders.iter().find(|folder| folder.classes != folders[0].classes) {
        return Err(Error::argument(format!(
            "`{}` has other classes than `{}`",
            other.path, folders[0].path
        ))
        .remedy("give folders with the same sub-folders"));
    }
    let parts = folders.into_iter().map(|folder| Box::new(folder) as Box<dyn Rows>).collect();
    Ok(Arc::new(declare::table(parts, &given.declared()?)?))
}

/// The classes of a folder: its sub-folders, sorted. A label is a number in this list.
pub fn classes(path: &str) -> Result<Vec<String>> {
    names(path, true)
}

/// Names in a folder, sorted: of folders or of images.
fn names(path: &str, folders: bool) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(files::resolve(path)?).map_err(|error| io(path, error))? {
        let entry = entry.map_err(|error| io(path, error))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let lower = name.to_lowercase();
        let is_image = [".png", ".jpg", ".jpeg"].iter().any(|ending| lower.ends_with(ending));
        if name.starts_with('.') || entry.path().is_dir() != folders || (!folders && !is_image) {
            continue;
        }
        names.push(name);
    }
    names.sort_unstable();
    Ok(names)
}

/// A folder with a sub-folder for each class.
struct Folder {
    path: String,
    classes: Vec<String>,
    fields: Vec<Field>,
    /// Paths, and the numbers of the classes.
    files: Vec<(String, i64)>,
    channels: usize,
}

impl Folder {
    fn open(path: &str, channels: usize) -> Result<Folder> {
        let classes = classes(path)?;
        let mut files = Vec::new();
        for (label, class) in classes.iter().enumerate() {
            let folder = format!("{path}/{class}");
            for name in names(&folder, false)? {
                files.push((format!("{folder}/{name}"), label as i64));
            }
        }
        if files.is_empty() {
            return Err(files::fault(format!("`{path}` has no sub-folder with PNG or JPEG files"))
                .remedy("put the images of each class into a sub-folder of their own"));
        }
        let dims = [Dim::symbol("h")?, Dim::symbol("w")?, Dim::size(channels)];
        let fields = vec![
            Field { name: "image".into(), ty: Type::new(DType::U8, &dims)? },
            Field { name: "label".into(), ty: Type::scalar(DType::I64) },
        ];
        Ok(Folder { path: path.into(), classes, fields, files, channels })
    }
}

impl Rows for Folder {
    fn name(&self) -> &str {
        &self.path
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn len(&self) -> u64 {
        self.files.len() as u64
    }

    fn fill(&self, wanted: &[Wanted], out: &mut Columns) -> Result<()> {
        for wanted in wanted {
            let (path, label) = &self.files[wanted.number as usize];
            let image = Image::decode(&Input::open(path)?, self.channels)?;
            let sizes = [image.height, image.width, self.channels];
            out.put(0, wanted.row, &sizes, &image.pixels)?;
            out.put(1, wanted.row, &[], &label.to_le_bytes())?;
        }
        Ok(())
    }
}
