//! The program of a trainer.

use super::*;

/// The program of a trainer.
pub(super) fn trainer(
    spread: &Program,
    path: &[usize],
    site: &Site,
    split: &Split,
    sides: Sides,
) -> Result<Program> {
    let body = trainer_block(site, split, sides, !path.is_empty() || sides.until_closed)?;
    let main = match path {
        [] => body,
        _ => around(&spread.main, path, &Arc::new(body), split, Some(sides))?,
    };
    let main = among(&pruned(&main)?, sides.trainers as u64)?;
    let names: BTreeSet<&Arc<str>> = main.calls.iter().filter_map(stated).collect();
    let states = spread.states.iter().filter(|(name, _)| names.contains(name));
    let states = states.map(|(name, decl)| (name.clone(), decl.clone())).collect();
    Ok(Program { states, main, ..spread.clone() })
}

/// The block that trains, without updates.
fn trainer_block(site: &Site, split: &Split, sides: Sides, is_loop: bool) -> Result<Block> {
    let Sides { trainers, servers, .. } = sides;
    let block = &site.block;
    let mut on = Rewrite::new(block.param_types());
    let mut new: HashMap<ValueId, ValueId> = HashMap::new();
    let is_own = |id: ValueId| split.flags[id as usize] != SERVER;
    new.extend((0..block.n_params as ValueId).filter(|&id| is_own(id)).map(|id| (id, id)));
    let sent: HashMap<usize, (usize, Vec<usize>)> = exchanges(block, split)
        .enumerate()
        .map(|(tag, (index, places))| (index, (tag, places)))
        .collect();
    for (index, call) in block.calls.iter().enumerate() {
        on.set_loc(call.loc);
        if let Some((tag, places)) = sent.get(&index) {
            if is_loop && *tag == 0 {
                on.call(Announce { trainers, servers, more: true }, &[])?;
            }
            let inputs: Vec<ValueId> = places.iter().map(|&k| new[&call.inputs[k]]).collect();
            on.call(PushParts { trainers, servers, tag: *tag }, &inputs)?;
        }
        if index == split.last {
            for (group, (_, ids)) in split.by_dtype(block).into_iter().enumerate() {
                let types = ids.iter().map(|&id| block.types[id as usize]).collect();
                let tag = BACK + group;
                let pulled = on.call(PullParts { trainers, servers, types, tag }, &[])?;
                new.extend(ids.into_iter().zip(pulled));
            }
        }
        let state = stated(call).filter(|name| split.served.contains(*name));
        let is_left = match state {
            Some(name) => {
                call.op.downcast::<Assign>().is_none() && call.op.downcast::<Read>().is_none()
                    || !split.parameters.contains(name)
            }
            None => call.op.downcast::<AllReduce>().is_some(),
        };
        let inputs: Option<Vec<ValueId>> =
            call.inputs.iter().map(|id| new.get(id).copied()).collect();
        let known = call.outputs().any(|id| new.contains_key(&id));
        if let (Some(inputs), false, false) = (inputs, is_left, known) {
            let outputs = on.push_like(call, &inputs, block.output_types(call));
            new.extend(call.outputs().zip(outputs));
        }
    }
    let mut results = Vec::new();
    for (place, (id, state)) in block.results.iter().zip(&site.results).enumerate() {
        let kept = state
            .as_ref()
            .filter(|name| split.served.contains(*name) && !split.parameters.contains(*name));
        let given = kept.and_then(|name| {
            let is_it = |(_, given): &(&ValueId, &Given)| matches!(given, Given::State(known) if known == name);
            site.given.iter().find(is_it).map(|(&param, _)| param)
        });
        let value = given.or_else(|| new.get(id).copied());
        results.push(value.ok_or_else(|| {
            Error::internal(format!("result {place} of the block that trains is on no side"))
        })?);
    }
    for (id, name) in block.names.iter().filter(|(id, _)| is_own(**id)) {
        if let Some(&value) = new.get(id) {
            on.name(value, name);
        }
    }
    Ok(on.finish(results))
}

/// The blocks around the one that trains, with another one in its place. Trainers say when they have made all steps.
fn around(
    block: &Block,
    path: &[usize],
    body: &Arc<Block>,
    split: &Split,
    sides: Option<Sides>,
) -> Result<Block> {
    let [at, rest @ ..] = path else { return Ok((**body).clone()) };
    let mut on = Rewrite::new(block.param_types());
    let mut new: Vec<ValueId> = (0..block.n_params as ValueId).collect();
    new.resize(block.types.len(), ValueId::MAX);
    for (index, call) in block.calls.iter().enumerate() {
        on.set_loc(call.loc);
        let inputs: Vec<ValueId> = call.inputs.iter().map(|&id| new[id as usize]).collect();
        if call.op.downcast::<AllReduce>().is_some() {
            // A number among the outputs is each trainer's own.
            let is_output = |id: ValueId| {
                block.results.contains(&id)
                    && !block.calls.iter().any(|other| other.inputs.contains(&id))
            };
            if !call.outputs().all(is_output) {
                return Err(refused(
                    "averages are needed outside of the loop that trains",
                    call.loc,
                ));
            }
            call.outputs().zip(inputs).for_each(|(id, value)| new[id as usize] = value);
            continue;
        }
        let is_gone =
            |name: &&Arc<str>| split.served.contains(*name) && !split.parameters.contains(*name);
        if call.op.downcast::<Assign>().is_some() && stated(call).filter(is_gone).is_some() {
            continue;
        }
        let op: OpRef = match index == *at {
            true => {
                let inner = loop_body(call).map(|body| &**body).unwrap_or(block);
                let inner = Arc::new(around(inner, rest, body, split, None)?);
                map_blocks(&call.op, &mut |_| Ok(inner.clone()))?
            }
            false => call.op.clone(),
        };
        let outputs = on.push(op, &inputs, block.output_types(call), call.loc);
        call.outputs().zip(outputs).for_each(|(id, value)| new[id as usize] = value);
        if let Some(Sides { trainers, servers, .. }) = sides.filter(|_| index == *at) {
            on.call(Announce { trainers, servers, more: false }, &[])?;
        }
    }
    let names = block.names.iter().filter(|(id, _)| !served_name(block, **id, split));
    for (id, name) in names.filter(|(id, _)| new[**id as usize] != ValueId::MAX) {
        on.name(new[*id as usize], name);
    }
    Ok(on.finish(block.results.iter().map(|&id| new[id as usize]).collect()))
}

/// Whether a value is what is read of a state that trainers do not have.
fn served_name(block: &Block, id: ValueId, split: &Split) -> bool {
    maker(block, id).and_then(stated).is_some_and(|name| split.served.contains(name))
}

/// Servers do not read: a part of the data is one among trainers.
fn among(block: &Block, trainers: u64) -> Result<Block> {
    block.rewrite(|on, _, call| {
        if call.op.blocks().is_empty() {
            return Ok(None);
        }
        let mut op = map_blocks(&call.op, &mut |inner| among(inner, trainers).map(Arc::new))?;
        if let Some(found) = op.downcast::<ForEach>() {
            let reader: Reader = found.reader.parse()?;
            let reader = reader.among(trainers).to_string().into();
            op = OpRef::new(ForEach { reader, ..found.clone() });
        }
        Ok(Some(on.push(op, &call.inputs, block.output_types(call), call.loc)))
    })
}

/// Without what nothing needs.
fn pruned(block: &Block) -> Result<Block> {
    let mut patches = Patches::default();
    let inner = block.rewrite(|on, _, call| match loop_body(call) {
        Some(body) => {
            let body = Arc::new(dead::run(body, &mut Patches::default())?);
            let op = map_blocks(&call.op, &mut |_| Ok(body.clone()))?;
            Ok(Some(on.push(op, &call.inputs, block.output_types(call), call.loc)))
        }
        None => Ok(None),
    })?;
    dead::run(&carried::run(&inner, &mut patches)?, &mut patches)
}
