//! `save`: tensors to a file when the program passes.

use std::sync::Arc;

use crate::prelude::*;
use fluvial_data::files::{self, check_form};
use fluvial_data::{npy, safetensors};

/// Writes tensors to a file that programs may touch ([`set_root`](files::set_root)) whenever the op runs: one
/// to a `.npy` file, or several, each with a name, to a `.safetensors` file. A relative path is relative to
/// the root; a file that is there is replaced.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// # let folder = std::env::temp_dir().join("fluvial-save");
/// fluvial_data::files::set_root(Some(&folder));
/// let (a, b) = (Var::scalar(1.0f64), Var::of(&[1i64, 2], &[2])?);
/// save("run/both.safetensors", &[&a, &b], &["a", "b"])?;
/// assert_eq!(load("run/both.safetensors", Some("b"), &b.ty())?.to_vec::<i64>()?, [1, 2]);
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn save(path: &str, tensors: &[&Var], names: &[&str]) -> Result<()> {
    let names = names.iter().map(|&name| name.into()).collect();
    bind(Save { path: path.into(), names }, tensors).map(drop)
}

attributes! {
    /// The op behind [`save`].
    pub struct Save = "save" {
        /// The file.
        pub path: Arc<str>,
        /// The names of the tensors, for formats that have names.
        pub names: Vec<Arc<str>>,
    }
}

/// The formats of files.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Format {
    Npy,
    Safetensors,
}

/// The format that a path names.
pub(super) fn format(path: &str) -> Result<Format> {
    check_form(path)?;
    if path.ends_with(".npy") {
        return Ok(Format::Npy);
    }
    match path.ends_with(".safetensors") {
        true => Ok(Format::Safetensors),
        false => Err(Error::argument(format!("the format of `{path}` is not known"))
            .remedy("end the path in `.npy` or `.safetensors`")),
    }
}

impl Op for Save {
    fn arity(&self) -> Arity {
        Arity::AtLeast(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let format = format(&self.path)?;
        if inputs.iter().any(|ty| ty.is_list()) {
            return Err(Error::dtype("only tensors are saved"));
        }
        if format == Format::Npy {
            npy::has_dtype(inputs[0].dtype())?;
        }
        let repeated = (1..self.names.len()).find(|&i| self.names[..i].contains(&self.names[i]));
        if let Some(i) = repeated {
            return Err(Error::argument(format!("the name `{}` is given twice", self.names[i])));
        }
        let fits = match format {
            Format::Npy => inputs.len() == 1 && self.names.is_empty(),
            Format::Safetensors => inputs.len() == self.names.len(),
        };
        match fits {
            true => Ok(smallvec![]),
            false => Err(Error::argument(format!(
                "{} names for {} tensors",
                self.names.len(),
                inputs.len()
            ))
            .remedy(
                "a `.npy` file has one tensor without a name, a `.safetensors` file names each",
            )),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let tensors = inputs.iter().map(|value| value.tensor()).collect::<Result<Vec<_>>>()?;
        let format = format(&self.path)?;
        files::write(&self.path, |to| match format {
            Format::Npy => npy::write(to, tensors[0], &self.path),
            Format::Safetensors => {
                let names = self.names.iter().map(|name| &**name);
                safetensors::write(to, &names.zip(tensors).collect::<Vec<_>>(), &self.path)
            }
        })?;
        Ok(smallvec![])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::File))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Once)
    }

    fn grad(&self) -> Grad {
        Grad::Stop
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Save::NAME, Save::build, || {
    open_folder_of_samples();
    let of = |path: &str, names: &[&str]| Save {
        path: path.into(),
        names: names.iter().map(|&name| name.into()).collect(),
    };
    let x = ramp(&[2, 3]);
    vec![
        Sample::new(of("samples/saved.npy", &[]), [x.clone()]).gives([]),
        Sample::new(of("saved.safetensors", &["a", "b"]), [x.clone(), i64s(&[1], &[])]).gives([]),
        Sample::new(of("saved.txt", &[]), [x.clone()]).refused("format"),
        Sample::new(of("/saved.npy", &[]), [x.clone()]).refused("not below the root"),
        Sample::new(of("a/../../saved.npy", &[]), [x.clone()]).refused("not a path of a file"),
        Sample::new(of("saved.npy", &["a"]), [x.clone()]).refused("1 names for 1"),
        Sample::new(of("saved.safetensors", &["a", "a"]), [x.clone(), x]).refused("given twice"),
    ]
});

/// Samples write to a folder of this process, unless the caller has opened another one.
pub(super) fn open_folder_of_samples() {
    let folder = std::env::temp_dir().join(format!("fluvial-samples-{}", std::process::id()));
    files::set_root(Some(&folder));
}
