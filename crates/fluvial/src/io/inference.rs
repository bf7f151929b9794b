//! Models for use.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use fluvial_core::{Block, Dim, Program, Result, State, Type};

use super::save_model;

/// Saves what is needed to compute these outputs of a model outside of training: no updates and no losses,
/// layers such as dropout as they are in use, and of the inputs only those that the outputs need. Returns the program that was saved.
///
/// ```
/// use fluvial::io;
/// use fluvial::prelude::*;
///
/// let path = std::env::temp_dir().join(format!("fluvial-use-{}.safetensors", std::process::id()));
/// let (x, y) = (Type::of(DType::F32, &[8, 2])?, Type::of(DType::F32, &[8, 1])?);
/// let net = Linear::new("fc", 2, 1);
/// let adam = Adam::new(net.parameters(), 0.1);
/// let training = Program::build(&[("x", x), ("y", y)], |v| {
///     let guess = dropout(&net.forward(&v[0])?, 0.5)?;
///     let loss = mean(&square(&(&guess - &v[1]))?, &[], false)?;
///     adam.minimize(&loss)?;
///     Ok(vec![guess, loss])
/// })?;
/// let saved = io::save_inference_model(&path, &training, &["out0"], &State::new())?;
/// assert_eq!(saved.inputs, ["x".into()]);
/// assert!(saved.states.values().all(|known| known.role != Role::Optimizer));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Error>(())
/// ```
pub fn save_inference_model(
    path: impl AsRef<Path>,
    program: &Program,
    outputs: &[&str],
    state: &State,
) -> Result<Program> {
    let saved = inference_program(program, outputs)?;
    save_model(path, &saved, state)?;
    Ok(saved)
}

/// The program that [`save_inference_model`] saves.
pub fn inference_program(program: &Program, outputs: &[&str]) -> Result<Program> {
    without_unused_inputs(&program.prune(outputs)?.for_inference()?)
}

/// The program without inputs that nothing reads, unless a size is known by one of them only.
fn without_unused_inputs(program: &Program) -> Result<Program> {
    let main = &program.main;
    let uses = main.use_counts();
    let types = main.param_types();
    let used = || types.iter().zip(&uses).filter(|(_, uses)| **uses > 0);
    let sizes: BTreeSet<Arc<str>> = used().flat_map(|(ty, _)| symbols(ty)).collect();
    let wanted = wanted_sizes(main);
    let tells = |size: &Arc<str>| wanted.contains(size) && !sizes.contains(size);
    let is_kept = |i: usize| uses[i] > 0 || symbols(&types[i]).any(|size| tells(&size));
    let kept: Vec<usize> = (0..types.len()).filter(|&i| is_kept(i)).collect();
    Ok(Program {
        main: main.keeping_params(is_kept)?,
        inputs: kept.iter().map(|&i| program.inputs[i].clone()).collect(),
        ..program.clone()
    })
}

/// The names of the sizes that calls of a block know or make.
fn wanted_sizes(block: &Block) -> BTreeSet<Arc<str>> {
    let mut found = Vec::new();
    for call in &block.calls {
        call.op.attrs().symbols(&mut found);
    }
    let made = &block.types[block.n_params..];
    found.extend(made.iter().flat_map(|ty| ty.dims().to_vec()).flat_map(Dim::symbols));
    found.into_iter().filter_map(Dim::symbol_name).collect()
}

/// The names of the sizes that a value of this type tells.
fn symbols(ty: &Type) -> impl Iterator<Item = Arc<str>> {
    let dims = ty.dims().to_vec();
    dims.into_iter().filter_map(|dim| dim.symbol_name())
}
