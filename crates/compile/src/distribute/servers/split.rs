//! Who computes what: trainers or parameter servers.

use super::*;

/// Whether the next value of a state follows from itself and from constants: a counter, as of a schedule.
fn counts(site: &Site, name: &Arc<str>, id: ValueId) -> bool {
    if let Some(given) = site.given.get(&id) {
        return matches!(given, Given::Made(..))
            || matches!(given, Given::State(known) if known == name);
    }
    maker(&site.block, id).is_some_and(|call| {
        let properties = call.op.properties();
        !properties.effect
            && !properties.random
            && call.op.ranks().is_none()
            && call.inputs.iter().all(|&input| counts(site, name, input))
    })
}

/// It depends on what trainers have.
pub(super) const LOCAL: u8 = 1;
/// It depends on what servers have.
pub(super) const SERVER: u8 = 2;

/// Who computes what.
pub(super) struct Split {
    /// The states that servers keep.
    pub(super) served: BTreeSet<Arc<str>>,
    pub(super) parameters: BTreeSet<Arc<str>>,
    /// By value.
    pub(super) flags: Vec<u8>,
    /// Values that trainers get from servers.
    pub(super) pulled: BTreeSet<ValueId>,
    /// By value: whether servers need it.
    pub(super) of_server: Vec<bool>,
    /// The last exchange.
    pub(super) last: usize,
}

impl Split {
    pub(super) fn of(site: &Site, program: &Program) -> Result<Split> {
        let block = &site.block;
        let role = |name: &Arc<str>| program.states.get(name).map(|decl| decl.role);
        let made_by = |id: ValueId| block.calls.iter().find(|call| call.outputs().contains(&id));
        let is_served = |(name, id): &&(Arc<str>, ValueId)| match (role(name), made_by(*id)) {
            (Some(Role::Parameter | Role::Optimizer), Some(_)) => true,
            (Some(Role::Counter), Some(call)) if call.loc.phase() == Phase::Optimizer => true,
            (Some(Role::Counter | Role::Buffer), Some(_)) => counts(site, name, *id),
            _ => false,
        };
        let served: BTreeSet<Arc<str>> =
            site.next.iter().filter(is_served).map(|(name, _)| name.clone()).collect();
        let is_parameter = |name: &&Arc<str>| role(name) == Some(Role::Parameter);
        let parameters = served.iter().filter(is_parameter).cloned().collect();
        let last = block.calls.iter().rposition(|call| call.op.downcast::<AllReduce>().is_some());
        let mut split = Split {
            served,
            parameters,
            flags: Vec::new(),
            pulled: BTreeSet::new(),
            of_server: vec![false; block.types.len()],
            last: last.unwrap_or(0),
        };
        split.mark(site);
        split.find_pulled(site)?;
        split.find_served(site)?;
        split.check_order(block)?;
        Ok(split)
    }

    fn of_state(&self, name: &Arc<str>, site: &Site) -> u8 {
        match self.served.contains(name) {
            true if self.parameters.contains(name) => 0,
            true => SERVER,
            false if site.next.iter().any(|(assigned, _)| assigned == name) => LOCAL,
            false => 0,
        }
    }

    fn mark(&mut self, site: &Site) {
        let block = &site.block;
        self.flags = vec![0; block.types.len()];
        for id in 0..block.n_params as ValueId {
            self.flags[id as usize] = match site.given.get(&id) {
                Some(Given::State(name)) => self.of_state(name, site),
                Some(Given::Made(..)) => 0,
                None => LOCAL,
            };
        }
        for call in &block.calls {
            let flag = if let Some(read) = call.op.downcast::<Read>() {
                self.of_state(&read.state, site)
            } else if call.op.downcast::<AllReduce>().is_some() {
                SERVER
            } else {
                let all = call.inputs.iter().fold(0, |all, &id| all | self.flags[id as usize]);
                let is_own = call.op.properties().effect
                    || matches!(call.op.ranks(), Some(Ranks::Differ | Ranks::Once));
                if is_own { all | LOCAL } else { all }
            };
            call.outputs().for_each(|id| self.flags[id as usize] = flag);
        }
    }

    /// Finds what trainers need of servers.
    fn find_pulled(&mut self, site: &Site) -> Result<()> {
        let block = &site.block;
        let mut need = vec![false; block.types.len()];
        for (&id, state) in block.results.iter().zip(&site.results) {
            if state.as_ref().is_none_or(|name| !self.served.contains(name)) {
                self.want(id, &mut need);
            }
        }
        for call in block.calls.iter().rev() {
            let is_needed = match stated(call) {
                Some(name) => !self.served.contains(name) && call.op.downcast::<Read>().is_none(),
                None => call.op.properties().effect || call.outputs().any(|id| need[id as usize]),
            };
            if is_needed {
                call.inputs.iter().for_each(|&id| self.want(id, &mut need));
            }
        }
        for (name, id) in site.next.iter().filter(|(name, _)| self.parameters.contains(name)) {
            if self.flags[*id as usize] & LOCAL != 0 {
                let loc = maker(block, *id).map_or(Loc::Unknown, |call| call.loc);
                let what = format!("the update of `{name}` depends on what only a trainer has");
                return Err(refused(&what, loc));
            }
            self.pulled.insert(*id);
        }
        for &id in &self.pulled {
            let ty = &block.types[id as usize];
            if ty.is_list() || ty.dtype().is_bool() || ty.numel().is_none() {
                let loc = maker(block, id).map_or(Loc::Unknown, |call| call.loc);
                return Err(refused(&format!("a trainer needs {ty} of a server"), loc));
            }
        }
        Ok(())
    }

    fn want(&mut self, id: ValueId, need: &mut [bool]) {
        match self.flags[id as usize] == SERVER {
            true => {
                self.pulled.insert(id);
            }
            false => need[id as usize] = true,
        }
    }

    /// Finds what servers compute.
    fn find_served(&mut self, site: &Site) -> Result<()> {
        let block = &site.block;
        let next = site.next.iter().filter(|(name, _)| self.served.contains(name));
        for id in next.map(|(_, id)| *id).chain(self.pulled.iter().copied()) {
            self.of_server[id as usize] = true;
        }
        for call in block.calls.iter().rev() {
            if !call.outputs().any(|id| self.of_server[id as usize])
                || call.op.downcast::<AllReduce>().is_some()
            {
                continue;
            }
            for &id in &call.inputs {
                if self.flags[id as usize] & LOCAL != 0 {
                    return Err(refused("an update depends on what only a trainer has", call.loc));
                }
                self.of_server[id as usize] = true;
            }
        }
        Ok(())
    }

    /// What comes from servers is there behind the last exchange.
    fn check_order(&self, block: &Block) -> Result<()> {
        for call in &block.calls[..self.last] {
            let is_own = call.outputs().any(|id| self.flags[id as usize] & LOCAL != 0);
            let is_early = call.inputs.iter().any(|id| self.pulled.contains(id));
            if is_own && is_early && call.op.downcast::<AllReduce>().is_none() {
                return Err(refused("a forward pass depends on what only servers have", call.loc));
            }
        }
        Ok(())
    }

    /// What is pulled, by element type.
    pub(super) fn by_dtype(&self, block: &Block) -> Vec<(DType, Vec<ValueId>)> {
        let mut groups: Vec<(DType, Vec<ValueId>)> = Vec::new();
        for &id in &self.pulled {
            let dtype = block.types[id as usize].dtype();
            match groups.iter_mut().find(|(known, _)| *known == dtype) {
                Some((_, ids)) => ids.push(id),
                None => groups.push((dtype, vec![id])),
            }
        }
        groups
    }
}
