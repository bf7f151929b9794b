//! States in files, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use fluvial_core::{Bound, Registry, Result, Role, State, StateDecl, Tensor, Type};
use fluvial_data::{files, safetensors};

use super::MODEL;

/// Writes the states of these roles to a `.safetensors` file, whole or not at all. All of them, [`Role::ALL`], are what a
/// training needs to go on.
///
/// ```
/// use fluvial::io::{Load, load_states, save_states};
/// use fluvial::prelude::*;
///
/// let path = std::env::temp_dir().join(format!("fluvial-states-{}.safetensors", std::process::id()));
/// let state = State::new();
/// state.insert("w", Role::Parameter, Tensor::full(&[2], 1.5f32)?)?;
/// save_states(&path, &state, &Role::ALL)?;
///
/// let elsewhere = State::new();
/// let loaded = load_states(&path, &elsewhere, Load::default())?;
/// assert_eq!(loaded.names, ["w"]);
/// assert_eq!(elsewhere.tensor("w")?.to_vec::<f32>()?, [1.5, 1.5]);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Error>(())
/// ```
pub fn save_states(path: impl AsRef<Path>, state: &State, roles: &[Role]) -> Result<()> {
    write(path.as_ref(), &state.cells(), roles, &[])
}

/// Writes the cells of these roles with a note on the role of each, and further notes.
pub(super) fn write(
    path: &Path,
    cells: &Bound,
    wanted: &[Role],
    further: &[(&str, &str)],
) -> Result<()> {
    let (mut tensors, mut roles) = (Vec::new(), Vec::new());
    for (name, cell) in cells {
        let (Some(var), Some(known)) = (cell.get(), cell.declaration()) else { continue };
        if wanted.contains(&known.role) {
            tensors.push((&**name, var.tensor()?.clone()));
            roles.push((format!("role:{name}"), known.role.name()));
        }
    }
    let tensors: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, x)| (*name, x)).collect();
    let mut notes: Vec<(&str, &str)> =
        roles.iter().map(|(note, role)| (note.as_str(), *role)).collect();
    notes.extend(further);
    let shown = path.display().to_string();
    files::write_at(path, |to| safetensors::write_noted(to, &tensors, &notes, &shown))
}

pub(super) fn read(path: &Path) -> Result<safetensors::File> {
    let shown = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|error| files::io(&shown, error))?;
    let about = file.metadata().map_err(|error| files::io(&shown, error))?;
    if !about.is_file() {
        return Err(files::fault(format!("`{shown}` is not a file")));
    }
    safetensors::read_all(&mut std::io::BufReader::new(file), about.len(), &shown)
}

/// How a key of a file becomes the name of a state; none for what is left out.
pub type Rename<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What is loaded, and how it is made to fit.
///
/// ```no_run
/// # use fluvial::prelude::*;
/// use fluvial::io::{Load, load_states};
/// // Weights of another project, in another precision, for a part of the model.
/// let rename = |key: &str| Some(format!("encoder.{}", key.strip_prefix("model.")?));
/// let load = Load { rename: Some(&rename), cast: true, ..Load::default() };
/// let loaded = load_states("theirs.safetensors", &State::new(), load)?;
/// println!("{loaded}");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Load<'a> {
    /// The states that are wanted; by default all that the file has.
    pub names: Option<&'a [&'a str]>,
    /// From keys of the file to names of states.
    pub rename: Option<Rename<'a>>,
    /// Whether it is an error if the file lacks one that is wanted. It is by default.
    pub strict: bool,
    /// Whether other element types are converted to those of the states.
    pub cast: bool,
    /// The ops that the program of a model may use; by default those of Fluvial. Others are added to
    /// [`registry`](crate::ops::registry) by [`Registry::with`].
    pub registry: Option<&'a Registry>,
}

impl Default for Load<'_> {
    fn default() -> Self {
        Load { names: None, rename: None, strict: true, cast: false, registry: None }
    }
}

/// What was loaded, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The states that have got a value.
    pub names: Vec<String>,
    /// The wanted ones that the file does not have.
    pub missing: Vec<String>,
    /// Those of the file, by their new names, that were not wanted.
    pub unexpected: Vec<String>,
}

impl fmt::Display for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} states", self.names.len())?;
        for (word, names) in [("missing", &self.missing), ("unexpected", &self.unexpected)] {
            if !names.is_empty() {
                write!(f, "; {word}: {}", names.join(", "))?;
            }
        }
        Ok(())
    }
}

/// Reads states from a `.safetensors` file, of ours or of others. States of the scope, and those of living layers and
/// optimizers that are listed there, get the values of the file, and keep their roles; those that it does not have
/// yet are added, and wait for the layer that will have them. Nothing is changed if anything does
/// not fit: the error then tells of everything that does not, and of what the file has beside it.
pub fn load_states(path: impl AsRef<Path>, state: &State, load: Load<'_>) -> Result<Loaded> {
    let path = path.as_ref();
    take_over(read(path)?, path, state, load, &BTreeMap::new())
}

/// Gives `state` what is wanted of a file. What a program declares is wanted, too, if it belongs to a model.
pub(super) fn take_over(
    file: safetensors::File,
    path: &Path,
    state: &State,
    load: Load<'_>,
    declared: &BTreeMap<Arc<str>, StateDecl>,
) -> Result<Loaded> {
    let mut faults = Vec::new();
    let mut values: BTreeMap<String, (String, Tensor)> = BTreeMap::new();
    for (key, tensor) in file.tensors {
        let name = match load.rename {
            Some(rename) => rename(&key),
            None => Some(key.clone()),
        };
        let Some(name) = name else { continue };
        if let Some((other, _)) = values.get(&name) {
            faults.push(format!("`{key}` and `{other}` are both to be `{name}`"));
            continue;
        }
        values.insert(name, (key, tensor));
    }
    let mut wanted: BTreeSet<String> = match load.names {
        Some(names) => names.iter().map(|name| name.to_string()).collect(),
        None => values.keys().cloned().collect(),
    };
    let of_model = declared.iter().filter(|(_, declaration)| MODEL.contains(&declaration.role));
    wanted.extend(of_model.map(|(name, _)| name.to_string()));

    let mut loaded = Loaded::default();
    loaded.missing.extend(wanted.iter().filter(|name| !values.contains_key(*name)).cloned());
    loaded.unexpected.extend(values.keys().filter(|name| !wanted.contains(*name)).cloned());
    if load.strict {
        faults.extend(loaded.missing.iter().map(|name| format!("`{name}` is not in the file")));
    }
    let mut found = Vec::new();
    for (name, (key, tensor)) in values {
        if !wanted.contains(&name) {
            continue;
        }
        let known = state.declaration(&name).or_else(|| declared.get(&*name).cloned());
        let role = match &known {
            Some(known) => Ok(known.role),
            None => role_of(&key, &file.notes),
        };
        let fitting = match &known {
            Some(known) => fitting(&tensor, &known.ty, load.cast),
            None => Ok(tensor),
        };
        match (role, fitting) {
            (Ok(role), Ok(tensor)) => found.push((name, role, tensor)),
            (Err(fault), _) | (_, Err(fault)) => faults.push(format!("`{name}` {fault}")),
        }
    }
    if !faults.is_empty() {
        return Err(does_not_fit(path, &faults, &loaded.unexpected));
    }
    for (name, role, tensor) in found {
        state.load(&name, role, tensor)?;
        loaded.names.push(name);
    }
    Ok(loaded)
}

/// The role that the file notes for a tensor; files of others have parameters.
fn role_of(key: &str, notes: &[(String, String)]) -> Result<Role, String> {
    let note = notes.iter().find(|(name, _)| name.strip_prefix("role:") == Some(key));
    match note {
        None => Ok(Role::Parameter),
        Some((_, role)) => {
            Role::parse(role).ok_or_else(|| format!("has the unknown role `{role}`"))
        }
    }
}

/// The tensor as a state of that type, or what is wrong with it.
fn fitting(tensor: &Tensor, ty: &Type, cast: bool) -> Result<Tensor, String> {
    let wrong = || format!("is {ty}, in the file {}", tensor.ty());
    if tensor.ty() == *ty {
        return Ok(tensor.clone());
    }
    match cast && tensor.ty().with_dtype(ty.dtype()) == *ty {
        true => tensor.cast(ty.dtype()).map_err(|error| format!("{}: {error}", wrong())),
        false => Err(wrong()),
    }
}

fn does_not_fit(path: &Path, faults: &[String], unexpected: &[String]) -> fluvial_core::Error {
    let mut text = format!("`{}` does not fit:\n  {}", path.display(), faults.join("\n  "));
    if !unexpected.is_empty() {
        text += &format!("\n  not asked for, but in the file: `{}`", unexpected.join("`, `"));
    }
    fluvial_core::Error::argument(text).remedy(
        "rename keys by `rename`, convert element types by `cast`, or load what is there without `strict`",
    )
}
