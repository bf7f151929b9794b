//! The program of a parameter server.

use super::*;

/// The program of a server, whose states are not cut yet.
pub(super) fn server(
    spread: &Program,
    path: &[usize],
    site: &Site,
    split: &Split,
    sides: Sides,
) -> Result<Program> {
    let block = &site.block;
    let served: Vec<Arc<str>> = split.served.iter().cloned().collect();
    let mut others: BTreeSet<Arc<str>> = BTreeSet::new();
    for (&id, given) in &site.given {
        if let (Given::State(name), true) = (given, split.of_server[id as usize]) {
            others.insert(name.clone());
        }
    }
    let others: Vec<Arc<str>> =
        others.into_iter().filter(|name| !split.served.contains(name)).collect();
    let names: Vec<Arc<str>> = served.iter().chain(&others).cloned().collect();
    let types: Vec<Type> = names.iter().map(|name| spread.states[name].ty).collect();
    let step = server_block(site, split, sides, &names, &types, &served)?;
    let loc = block.calls.get(split.last).map_or(Loc::Unknown, |call| call.loc);
    let mut on = Rewrite::new(&[]);
    on.set_loc(loc);
    let mut values = Vec::new();
    for (state, &ty) in names.iter().zip(&types) {
        values.push(on.call1(Read { state: state.clone(), ty }, &[])?);
    }
    let next: Vec<ValueId> = if path.is_empty() && !sides.until_closed {
        inlined(&mut on, &step, &values)
    } else {
        let body = serving(&Arc::new(step), &types, served.len(), sides)?;
        let always = on.call1(Constant { value: Tensor::scalar(true) }, &[])?;
        let inputs: Vec<ValueId> = std::iter::once(always).chain(values).collect();
        on.call(while_of(body, served.len()), &inputs)?.to_vec()
    };
    for (state, value) in served.iter().zip(next) {
        on.call(Assign { state: state.clone() }, &[value])?;
    }
    let unbound = |name: &Arc<str>| {
        let decl = &spread.states[name];
        (name.clone(), StateDecl::new(decl.ty, decl.role))
    };
    let states: BTreeMap<Arc<str>, StateDecl> = names.iter().map(unbound).collect();
    Ok(Program { states, main: on.finish(Vec::new()), ..Program::default() })
}

fn while_of(body: Block, n_carried: usize) -> While {
    While {
        body: Arc::new(body),
        n_carried,
        same: vec![],
        reverses: vec![],
        wanted: vec![],
        given: vec![],
        seeds: vec![],
        found: vec![],
        of_run: vec![],
        next: vec![],
        residuals: vec![],
    }
}

/// The calls of a block, on these values; gives its results.
fn inlined(on: &mut Rewrite, block: &Block, values: &[ValueId]) -> Vec<ValueId> {
    let mut new: Vec<ValueId> = values.to_vec();
    new.resize(block.types.len(), ValueId::MAX);
    block.calls.iter().for_each(|call| on.copy(block, call, &mut new));
    block.results.iter().map(|&id| new[id as usize]).collect()
}

/// A trip of a server: a step, if trainers make one.
fn serving(step: &Arc<Block>, types: &[Type], n_served: usize, sides: Sides) -> Result<Block> {
    let Sides { trainers, servers, .. } = sides;
    let loc = step.calls.last().map_or(Loc::Unknown, |call| call.loc);
    let otherwise = Rewrite::new(types).finish((0..n_served as ValueId).collect());
    let mut on = Rewrite::new(types);
    on.set_loc(loc);
    let more = on.call1(StepsLeft { trainers, servers }, &[])?;
    let choice = Cond {
        branches: vec![step.clone(), Arc::new(otherwise)],
        n_results: n_served,
        reverses: vec![],
        wanted: vec![],
        given: vec![],
        found: vec![],
        of_run: vec![],
        residuals: vec![],
        lists: vec![],
    };
    let inputs: Vec<ValueId> = std::iter::once(more).chain(0..types.len() as ValueId).collect();
    let next = on.call(choice, &inputs)?;
    Ok(on.finish(std::iter::once(more).chain(next).collect()))
}

/// A step of a server, from states to the next values of those that it keeps.
fn server_block(
    site: &Site,
    split: &Split,
    sides: Sides,
    names: &[Arc<str>],
    types: &[Type],
    served: &[Arc<str>],
) -> Result<Block> {
    let Sides { trainers, servers, .. } = sides;
    let block = &site.block;
    let mut on = Rewrite::new(types);
    let mut new: HashMap<ValueId, ValueId> = HashMap::new();
    for (&id, given) in site.given.iter().filter(|(id, _)| split.of_server[**id as usize]) {
        if let Given::State(name) = given
            && let Some(place) = names.iter().position(|known| known == name)
        {
            new.insert(id, place as ValueId);
        }
    }
    let mut made: Vec<(ValueId, &Call, Type)> = Vec::new();
    for (&id, given) in site.given.iter().filter(|(id, _)| split.of_server[**id as usize]) {
        if let Given::Made(call, ty) = given {
            made.push((id, call, *ty));
        }
    }
    made.sort_unstable_by_key(|(id, _, _)| *id);
    for (id, call, ty) in made {
        new.insert(id, on.push(call.op.clone(), &[], &[ty], call.loc)[0]);
    }
    let collected: HashMap<usize, (usize, Vec<usize>)> = exchanges(block, split)
        .enumerate()
        .map(|(tag, (index, places))| (index, (tag, places)))
        .collect();
    for (index, call) in block.calls.iter().enumerate() {
        on.set_loc(call.loc);
        if let (Some((tag, places)), Some(op)) =
            (collected.get(&index), call.op.downcast::<AllReduce>())
        {
            let types = places.iter().map(|&k| block.output_types(call)[k]).collect();
            let (how, tag, cut) = (op.how, *tag, false);
            let outputs = on.call(CollectParts { trainers, servers, how, types, cut, tag }, &[])?;
            for (&k, value) in places.iter().zip(outputs) {
                new.insert(call.first_output + k as ValueId, value);
            }
            continue;
        }
        if stated(call).is_some() || !call.outputs().any(|id| split.of_server[id as usize]) {
            continue;
        }
        let inputs: Option<Vec<ValueId>> =
            call.inputs.iter().map(|id| new.get(id).copied()).collect();
        let inputs = inputs
            .ok_or_else(|| refused("an update depends on what servers do not have", call.loc))?;
        let outputs = on.push_like(call, &inputs, block.output_types(call));
        new.extend(call.outputs().zip(outputs));
    }
    for (group, (_, ids)) in split.by_dtype(block).into_iter().enumerate() {
        let values: Vec<ValueId> = ids.iter().map(|id| new[id]).collect();
        on.call(ServeParts { trainers, servers, tag: BACK + group }, &values)?;
    }
    let mut results = Vec::new();
    for name in served {
        let next = site.next.iter().find(|(known, _)| known == name).map(|(_, id)| id);
        let value = next.and_then(|id| new.get(id).copied());
        results.push(value.ok_or_else(|| Error::internal("a state has no next value"))?);
    }
    Ok(on.finish(results))
}
