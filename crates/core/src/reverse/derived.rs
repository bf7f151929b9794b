//! Gradients of functions made of ops, taken inside a gradient rule.

use fluvial_tensor::Result;

use super::{GradOptions, vjp};
use crate::grad::Cotangents;
use crate::scope::{self, Mode};
use crate::structural;
use crate::var::Var;

/// The cotangents of the `wanted` among `inputs` from those of the results of `f`, where missing ones are
/// zero: the gradient rule of an op whose definition by other ops is `f`.
///
/// `f` is given values of its own for the inputs, so that what one of them has to do with another one does
/// not count. The result can be differentiated again if the rule's can.
///
/// ```
/// use fluvial_core::*;
///
/// let (x, dy) = (Var::of(&[3.0], &[1])?, Var::of(&[1.0], &[1])?);
/// let found = vjp_through(|x| Ok(vec![&x[0] * &x[0]]), &[x], &[true], &[Some(dy)])?;
/// assert_eq!(found[0].as_ref().unwrap().to_vec::<f64>()?, [6.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn vjp_through(
    f: impl FnOnce(&[Var]) -> Result<Vec<Var>>,
    inputs: &[Var],
    wanted: &[bool],
    dys: &[Option<Var>],
) -> Result<Cotangents> {
    let recording = scope::is_recording();
    let building = scope::mode() == Mode::Building;
    let own = |(var, &wanted): (&Var, &bool)| match wanted && var.ty().is_inexact() {
        false if building || recording => Ok(var.clone()),
        // What is not differentiated again must not be tied to a tape that is being freed.
        false => var.detach().check(),
        true if building || recording && var.is_tracked() => structural::cast(var, var.dtype()),
        true => var.clone().check()?.track(),
    };
    let (own, results) = {
        // In a program, also what the rule made where nothing is recorded becomes a value of its own.
        let _building = building.then(scope::enable_grad);
        let own = inputs.iter().zip(wanted).map(own).collect::<Result<Vec<Var>>>()?;
        let _recording = scope::enable_grad();
        let results = f(&own)?;
        (own, results)
    };
    let given = results.iter().zip(dys).filter_map(|(y, dy)| Some((y, dy.as_ref()?)));
    let (ys, dys): (Vec<&Var>, Vec<Option<&Var>>) = given
        .filter(|(y, _)| y.is_tracked() || y.is_symbolic())
        .map(|(y, dy)| (y, Some(dy)))
        .unzip();
    let mut cotangents = Cotangents::from_elem(None, inputs.len());
    if ys.is_empty() {
        return Ok(cotangents);
    }
    let wrt: Vec<usize> = (0..wanted.len()).filter(|&i| wanted[i]).collect();
    let vars: Vec<&Var> = wrt.iter().map(|&i| &own[i]).collect();
    let options = GradOptions { create_graph: recording, ..GradOptions::default() };
    for (i, cotangent) in wrt.into_iter().zip(vjp(&ys, &dys, &vars, options)?) {
        cotangents[i] = cotangent;
    }
    Ok(cotangents)
}
