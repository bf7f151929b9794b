//! `load`: a tensor from a file when the program passes.

use std::sync::Arc;

use super::save::{Format, format};
use crate::prelude::*;
use fluvial_data::files::{self, fault};
use fluvial_data::{npy, safetensors};

///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// # let folder = std::env::temp_dir().join("fluvial-load");
/// fluvial_data::files::set_root(Some(&folder));
/// let x = Var::of(&[1.0f32, 2.0], &[2])?;
/// save("x.npy", &[&x], &[])?;
/// assert_eq!(load("x.npy", None, &x.ty())?.to_vec::<f32>()?, [1.0, 2.0]);
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn load(path: &str, name: Option<&str>, ty: &Type) -> Result<Var> {
    bind1(Load { path: path.into(), name: name.map(Arc::from), ty: *ty }, &[])
}

attributes! {
    /// The op behind [`load`].
    pub struct Load = "load" {
        /// The file.
        pub path: Arc<str>,
        /// The name of the tensor, for formats that have names.
        pub name: Option<Arc<str>>,
        /// The type of the tensor.
        pub ty: Type,
    }
}

impl Op for Load {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        if format(&self.path)? == Format::Npy && self.name.is_some() {
            return Err(Error::argument("a `.npy` file has no names"));
        }
        match self.ty.is_list() || self.ty.sizes().is_none() {
            true => Err(Error::symbolic(format!("a tensor of type {} is not loaded", self.ty))
                .remedy("give a tensor type whose sizes are numbers")),
            false => Ok(smallvec![self.ty]),
        }
    }

    fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
        let (file, len) = files::open(&self.path)?;
        let mut file = std::io::BufReader::new(file);
        let found = match format(&self.path)? {
            Format::Npy => npy::read(&mut file, len, &self.path)?,
            Format::Safetensors => {
                safetensors::read(&mut file, len, self.name.as_deref(), &self.path)?
            }
        };
        match found.ty() == self.ty {
            true => Ok(smallvec![found.into()]),
            false => Err(fault(format!(
                "`{}` has a tensor of type {}, but {} was declared",
                self.path,
                found.ty(),
                self.ty
            ))),
        }
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::File))
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Load::NAME, Load::build, || {
    super::save::open_folder_of_samples();
    let x = ramp(&[2, 3]);
    let written =
        files::write("loaded.npy", |to| npy::write(to, &x, "loaded.npy")).and_then(|()| {
            let pairs = [("a", &x), ("b \"\\", &x)];
            files::write("loaded.safetensors", |to| safetensors::write(to, &pairs, "loaded"))
        });
    written.expect("the folder of samples is there");
    let of = |path: &str, name: Option<&str>, ty: Type| Load {
        path: path.into(),
        name: name.map(Arc::from),
        ty,
    };
    let symbol = Dim::symbol("n").and_then(|n| Type::new(DType::F64, &[n])).expect("a type");
    vec![
        Sample::new(of("loaded.npy", None, x.ty()), []).gives([x.clone()]),
        Sample::new(of("loaded.safetensors", Some("a"), x.ty()), []).gives([x.clone()]),
        Sample::new(of("loaded.safetensors", Some("b \"\\"), x.ty()), []).gives([x.clone()]),
        Sample::new(of("loaded.safetensors", Some("c"), x.ty()), []).refused("does not have"),
        Sample::new(of("loaded.safetensors", None, x.ty()), []).refused("does not have"),
        Sample::new(of("loaded.npy", None, ramp(&[6]).ty()), []).refused("was declared"),
        Sample::new(of("absent.npy", None, x.ty()), []).refused("absent.npy"),
        Sample::new(of("../loaded.npy", None, x.ty()), []).refused("not a path of a file"),
        Sample::new(of("loaded.npy", Some("a"), x.ty()), []).refused("no names"),
        Sample::new(of("loaded.npy", None, symbol), []).refused("whose sizes are numbers"),
    ]
});
