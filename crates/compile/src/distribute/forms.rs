//! In which form ranks have values: whole, or cut into parts.
//!
//! States that are cut begin it: what is computed of them element by element is cut as well, and so are averages that only
//! such calls take. What needs a whole value gets it, put together from the parts of all ranks; what needs a part of
//! a whole value cuts it. So any program can be cut, with the same bits; how well depends on how much of it goes by element.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fluvial_core::structural::{Assign, Note, Read};
use fluvial_core::{Block, Call, Carries, Type};
use fluvial_ops::control::Cond;
use fluvial_ops::ranks::{AllReduce, CollectParts, ServeParts};

use super::facts::Plan;

/// How ranks have a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// All of it.
    Whole,
    /// As it is needed: it comes from an exchange that can give either.
    Either,
    /// A part each.
    Part,
}

/// In which forms a value is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Need {
    pub whole: bool,
    pub part: bool,
}

impl Need {
    fn add(&mut self, form: Form) {
        match form {
            Form::Whole => self.whole = true,
            Form::Either | Form::Part => self.part = true,
        }
    }
}

/// What is known of a block.
pub(super) struct Forms {
    /// By value.
    pub of: Vec<Form>,
    /// By value.
    pub needs: Vec<Need>,
    /// By result.
    pub results: Vec<Form>,
    /// By call: what is known of its blocks. Those of others stay as they are.
    pub inner: BTreeMap<usize, Vec<Forms>>,
}

/// The states that are cut.
pub(super) type CutStates = BTreeSet<Arc<str>>;

/// The state that a call reads, assigns or notes, if it is cut.
pub(super) fn cut_state<'a>(call: &'a Call, cut: &CutStates) -> Option<&'a Arc<str>> {
    let name = call.op.downcast::<Read>().map(|op| &op.state);
    let name = name.or_else(|| call.op.downcast::<Assign>().map(|op| &op.state));
    let name = name.or_else(|| call.op.downcast::<Note>().map(|op| &op.state));
    name.filter(|name| cut.contains(&**name))
}

/// Whether a value of this type may be cut.
pub(super) fn can_be_cut(ty: &Type) -> bool {
    !ty.is_list() && ty.rank() > 0 && ty.numel().is_some()
}

/// Whether parts of a call's outputs can be computed of parts of its inputs.
pub(super) fn is_by_part(block: &Block, call: &Call) -> bool {
    let properties = call.op.properties();
    let types = || call.inputs.iter().map(|&id| &block.types[id as usize]);
    let outs = block.output_types(call);
    if !call.op.is_by_element() || properties.effect || properties.random {
        return false;
    }
    let known = |ty: &Type| !ty.is_list() && (ty.rank() == 0 || ty.numel().is_some());
    let alike = |ty: &Type| ty.rank() == 0 || ty.dims() == outs[0].dims();
    types().chain(outs).all(known) && (!properties.elementwise || types().all(alike))
}

/// The exchange that a call is, if it can give parts as well.
pub(super) fn exchange<'a>(block: &Block, call: &'a Call) -> Option<&'a AllReduce> {
    let fits = block.output_types(call).iter().any(can_be_cut);
    call.op.downcast::<AllReduce>().filter(|_| fits)
}

/// What is known of a block whose parameters have these forms and whose results are wanted in others.
pub(super) fn forms_of(
    block: &Block,
    params: &[Form],
    results: &[Form],
    plan: &Plan,
    cut: &CutStates,
) -> Forms {
    let of = natural(block, params, plan, cut);
    let mut needs = vec![Need::default(); block.types.len()];
    let mut inner = BTreeMap::new();
    for (&id, &form) in block.results.iter().zip(results) {
        needs[id as usize].add(form);
    }
    for (index, call) in block.calls.iter().enumerate().rev() {
        if let Some((known, forms)) = within(block, index, call, &of, plan, cut) {
            for (&id, form) in call.inputs.iter().zip(forms) {
                needs[id as usize].add(form);
            }
            inner.insert(index, known);
            continue;
        }
        let wanted = call.outputs().fold(Need::default(), |all, id| {
            let need = needs[id as usize];
            Need { whole: all.whole || need.whole, part: all.part || need.part }
        });
        let by_part = is_by_part(block, call);
        let strongest = call.outputs().map(|id| of[id as usize]).max().unwrap_or(Form::Whole);
        for &id in &call.inputs {
            let need = &mut needs[id as usize];
            let is_number = !can_be_cut(&block.types[id as usize]);
            match strongest {
                _ if cut_state(call, cut).is_some() => need.part = true,
                _ if call.op.downcast::<ServeParts>().is_some() && !is_number => need.part = true,
                Form::Part if by_part && !is_number => need.part = true,
                Form::Either if by_part && !is_number => {
                    need.part |= wanted.part;
                    need.whole |= wanted.whole || !wanted.part;
                }
                _ => need.whole = true,
            }
        }
    }
    Forms { of, needs, results: results.to_vec(), inner }
}

/// By value: the form that it has by itself.
fn natural(block: &Block, params: &[Form], plan: &Plan, cut: &CutStates) -> Vec<Form> {
    let mut of = params.to_vec();
    of.resize(block.types.len(), Form::Whole);
    for (index, call) in block.calls.iter().enumerate() {
        let form = if cut_state(call, cut).is_some() || call.op.downcast::<CollectParts>().is_some()
        {
            Form::Part
        } else if exchange(block, call).is_some() {
            Form::Either
        } else if is_by_part(block, call) {
            call.inputs.iter().map(|&id| of[id as usize]).max().unwrap_or(Form::Whole)
        } else {
            if let Some(forms) = outputs_of(block, index, call, &of, plan, cut) {
                call.outputs().zip(forms).for_each(|(id, form)| of[id as usize] = form);
            }
            continue;
        };
        for id in call.outputs().filter(|&id| can_be_cut(&block.types[id as usize])) {
            of[id as usize] = form;
        }
    }
    of
}

/// Of a call whose blocks are cut: what it does with its inputs.
enum Kind<'a> {
    Loop(Carries, &'a Arc<Block>),
    Branches(&'a Cond),
}

fn kind<'a>(index: usize, call: &'a Call, plan: &Plan) -> Option<Kind<'a>> {
    if plan.apart.contains(&index) {
        return None;
    }
    if let Some(op) = call.op.downcast::<Cond>() {
        let is_plain = op.reverses.is_empty() && op.lists.is_empty();
        return is_plain.then_some(Kind::Branches(op));
    }
    let carries = call.op.carries()?;
    match call.op.blocks()[..] {
        [body] if call.n_outputs == carries.outputs + carries.count => {
            Some(Kind::Loop(carries, body))
        }
        _ => None,
    }
}

/// A loop carries parts of what begins as a part.
fn loop_params(call: &Call, carries: Carries, body: &Block, of: &[Form]) -> Vec<Form> {
    let given = call.inputs[carries.inputs..].iter().map(|&id| match of[id as usize] {
        Form::Part => Form::Part,
        _ => Form::Whole,
    });
    let mut params: Vec<Form> =
        std::iter::repeat_n(Form::Whole, carries.params).chain(given).collect();
    params.resize(body.n_params, Form::Whole);
    params
}

/// The forms of the outputs of a call with blocks; nothing, if all are whole.
fn outputs_of(
    block: &Block,
    index: usize,
    call: &Call,
    of: &[Form],
    plan: &Plan,
    cut: &CutStates,
) -> Option<Vec<Form>> {
    let plans = plan.inner.get(&index)?;
    Some(match kind(index, call, plan)? {
        Kind::Loop(carries, body) => {
            let params = loop_params(call, carries, body, of);
            let carried = params[carries.params..].iter().take(carries.count).copied();
            std::iter::repeat_n(Form::Whole, carries.outputs).chain(carried).collect()
        }
        Kind::Branches(op) => {
            let params: Vec<Form> = call.inputs[1..].iter().map(|&id| of[id as usize]).collect();
            let mut outs = vec![Form::Whole; call.n_outputs];
            for (branch, plan) in op.branches.iter().zip(plans) {
                let of = natural(branch, &params, plan, cut);
                for (out, &id) in outs.iter_mut().zip(&branch.results) {
                    if of[id as usize] == Form::Part {
                        *out = Form::Part;
                    }
                }
            }
            debug_assert_eq!(block.output_types(call).len(), outs.len());
            outs
        }
    })
}

/// What is known of the blocks of a call, and in which forms it takes its inputs; nothing, if it takes whole values only.
fn within(
    block: &Block,
    index: usize,
    call: &Call,
    of: &[Form],
    plan: &Plan,
    cut: &CutStates,
) -> Option<(Vec<Forms>, Vec<Form>)> {
    let plans = plan.inner.get(&index)?;
    let outs = outputs_of(block, index, call, of, plan, cut)?;
    Some(match kind(index, call, plan)? {
        Kind::Loop(carries, body) => {
            let params = loop_params(call, carries, body, of);
            let mut results = vec![Form::Whole; carries.results];
            results.extend(&params[carries.params..carries.params + carries.count]);
            let forms = forms_of(body, &params, &results, plans.first()?, cut);
            let mut inputs = vec![Form::Whole; carries.inputs];
            inputs.extend(&params[carries.params..]);
            (vec![forms], inputs)
        }
        Kind::Branches(op) => {
            let given: Vec<Form> = call.inputs[1..].iter().map(|&id| of[id as usize]).collect();
            let of_branch = |params: &[Form], branch: usize| {
                forms_of(&op.branches[branch], params, &outs, &plans[branch], cut)
            };
            // What may come either way comes whole if a branch needs all of it.
            let first = [of_branch(&given, 0), of_branch(&given, 1)];
            let settled = |(i, &form): (usize, &Form)| match form {
                Form::Either if first.iter().any(|forms| forms.needs[i].whole) => Form::Whole,
                Form::Either => Form::Part,
                settled => settled,
            };
            let params: Vec<Form> = given.iter().enumerate().map(settled).collect();
            let forms = vec![of_branch(&params, 0), of_branch(&params, 1)];
            (forms, std::iter::once(Form::Whole).chain(params).collect())
        }
    })
}
