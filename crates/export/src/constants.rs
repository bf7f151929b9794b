//! Elements that stand in the source.

use fluvial_core::{DType, Error, Result, Tensor};

use crate::place::{Root, c_type};

/// The constants of a program.
#[derive(Default)]
pub struct Constants(Vec<Tensor>);

impl Constants {
    /// Where a tensor is; equal ones are one.
    pub fn add(&mut self, tensor: &Tensor) -> Result<Root> {
        if let Some(known) = self.0.iter().position(|known| known.bitwise_eq(tensor)) {
            return Ok(Root::Constant(known));
        }
        self.0.push(tensor.contiguous()?);
        Ok(Root::Constant(self.0.len() - 1))
    }

    /// All with their names in C.
    pub fn named(&self) -> impl Iterator<Item = (String, &Tensor)> {
        self.0.iter().enumerate().map(|(number, tensor)| (format!("fl_constant_{number}"), tensor))
    }

    /// The declarations in C of those that a text uses.
    pub fn declared(&self, code: &str) -> Result<String> {
        let mut text = String::new();
        for (number, tensor) in self.0.iter().enumerate() {
            let name = format!("fl_constant_{number}");
            if !is_word_of(&name, code) {
                continue;
            }
            text.push_str(&format!("// {}\n", tensor.ty()));
            text.push_str(&array("static const", &name, tensor)?);
        }
        Ok(text)
    }
}

fn is_word_of(name: &str, code: &str) -> bool {
    code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|word| word == name)
}

/// An array with the elements of a tensor.
pub fn array(qualifier: &str, name: &str, tensor: &Tensor) -> Result<String> {
    let mut text = format!("{qualifier} {} {name}[] = {{", c_type(tensor.dtype()));
    let elements = literals(tensor)?;
    for (i, element) in elements.iter().enumerate() {
        text.push_str(if i % 10 == 0 && elements.len() > 10 { "\n    " } else { " " });
        text.push_str(element);
        text.push(',');
    }
    // C knows no array without elements.
    text.push_str(if elements.is_empty() { "0};\n" } else { "};\n" });
    Ok(text)
}

fn literals(tensor: &Tensor) -> Result<Vec<String>> {
    let tensor = tensor.contiguous()?;
    Ok(match tensor.dtype() {
        DType::F32 => tensor.to_vec::<f32>()?.into_iter().map(f32_literal).collect(),
        DType::F64 => tensor.to_vec::<f64>()?.into_iter().map(f64_literal).collect(),
        DType::I64 => tensor.to_vec::<i64>()?.into_iter().map(i64_literal).collect(),
        DType::F16 | DType::BF16 => {
            let bytes = tensor.as_bytes().ok_or_else(|| Error::internal("a copy has its bytes"))?;
            bytes.chunks(2).map(|b| u16::from_ne_bytes([b[0], b[1]]).to_string()).collect()
        }
        _ => tensor.to_f64s().into_iter().map(|x| format!("{}", x as i64)).collect(),
    })
}

/// A whole number in C.
/// A text in C. Bytes beyond ASCII are written by their numbers, each in a literal of its own.
pub fn text_literal(text: &str) -> String {
    let byte = |&byte: &u8| match byte {
        b'"' | b'\\' | b'?' => format!("\\{}", byte as char),
        b' '..=b'~' => (byte as char).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    format!("\"{}\"", text.as_bytes().iter().map(byte).collect::<String>())
}

pub fn i64_literal(x: i64) -> String {
    match x {
        // The minus is an operation in C, and there is no such number to apply it to.
        i64::MIN => "INT64_MIN".into(),
        _ if i32::try_from(x).is_ok() => x.to_string(),
        _ => format!("INT64_C({x})"),
    }
}

/// A number in C that is this one, by bits.
pub fn f64_literal(x: f64) -> String {
    match () {
        () if x.is_nan() => "(double)NAN".into(),
        () if x.is_infinite() => {
            if x > 0.0 { "(double)INFINITY" } else { "-(double)INFINITY" }.into()
        }
        () => format!("{x:?}"),
    }
}

/// A number in C that is this one, by bits.
pub fn f32_literal(x: f32) -> String {
    match () {
        () if x.is_nan() => "NAN".into(),
        () if x.is_infinite() => if x > 0.0 { "INFINITY" } else { "-INFINITY" }.into(),
        () => format!("{x:?}f"),
    }
}
