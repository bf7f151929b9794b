//! What a program becomes on ranks: one for all of them, or one for trainers and one for parameter servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use fluvial::compile::{
    Distribution, Served, Sides, Strategy, distribute, distribute_to_servers, parts_of,
};
use fluvial::core::{Error, Program, Result, State, Tensor, Type};
use fluvial::dist::{self, Comm};

use crate::fault::{Outcome, usage};

/// How parameter servers are called on command lines.
pub const SERVERS: &str = "ps";

/// The tag of states that servers hand over in the end.
const TAG: u32 = 32001;

/// What may be said of how a program is spread.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct SpreadArgs {
    /// How many of the ranks are parameter servers, for `ps`; one by default.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub servers: Option<u32>,
    /// Gradients are exchanged together until they have so many megabytes; 25 by default. `fluvial plan` knows the best.
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub bucket_mb: Option<u32>,
}

impl SpreadArgs {
    /// An error if anything is said: without `--dist` it means nothing.
    pub fn check_unused(&self) -> Outcome<()> {
        let servers = self.servers.map(|_| "--servers");
        match servers.or(self.bucket_mb.map(|_| "--bucket-mb")) {
            Some(option) => {
                let what = format!("`{option}` says how a program is spread over ranks");
                Err(usage(what, "say `--dist`, too, or leave it out"))
            }
            None => Ok(()),
        }
    }

    fn options(&self, strategy: Strategy, world: Option<usize>) -> Distribution {
        let usual = Distribution { world, ..Distribution::new(strategy) };
        let bucket = self.bucket_mb.map_or(usual.bucket, |mb| (mb as usize) << 20);
        Distribution { bucket, first_bucket: usual.first_bucket.min(bucket), ..usual }
    }
}

/// The programs of the ranks.
pub enum Spread {
    /// All ranks run it.
    Same(Program),
    /// The first ranks run one, the last ranks the other.
    Served(Box<Served>, Sides),
}

impl Spread {
    /// The programs for so many ranks.
    pub fn of(
        program: &Program,
        how: &str,
        world: Option<usize>,
        args: &SpreadArgs,
    ) -> Outcome<Spread> {
        if how != SERVERS {
            if args.servers.is_some() {
                return Err(usage("`--servers` belongs to `--dist ps`", "leave it out"));
            }
            let options = args.options(Strategy::parse(how)?, world);
            return Ok(Spread::Same(distribute(program, &options)?));
        }
        let Some(world) = world else {
            return Err(usage("`ps` needs to know how many ranks there are", "say so by `-n 4`"));
        };
        let servers = args.servers.unwrap_or(1) as usize;
        if servers >= world {
            let what = format!("of {world} ranks, {servers} cannot be parameter servers");
            return Err(usage(what, "start more ranks, or ask for fewer servers"));
        }
        let sides = Sides::new(world - servers, servers);
        let bucket = args.options(Strategy::DataParallel, None).bucket;
        Ok(Spread::Served(Box::new(distribute_to_servers(program, sides, bucket)?), sides))
    }

    /// Programs by the names of their files.
    pub fn named(&self) -> Vec<(&'static str, &Program)> {
        match self {
            Spread::Same(program) => vec![("trainer", program)],
            Spread::Served(served, _) => {
                vec![("trainer", &served.trainer), ("server", &served.server)]
            }
        }
    }

    /// Whether a rank keeps states for others.
    pub fn is_server(&self, rank: usize) -> bool {
        matches!(self, Spread::Served(_, sides) if rank >= sides.trainers)
    }

    /// The program of a rank.
    pub fn program(&self, rank: usize) -> &Program {
        match self {
            Spread::Same(program) => program,
            Spread::Served(served, _) if self.is_server(rank) => &served.server,
            Spread::Served(served, _) => &served.trainer,
        }
    }

    /// A number that differs if a program does.
    pub fn fingerprint(&self) -> u64 {
        self.named().iter().fold(0, |all, (_, program)| all.rotate_left(7) ^ program.fingerprint())
    }

    /// The program whose inputs are fed, with all states that any rank has, whole.
    pub fn whole(&self) -> Program {
        let mut whole = self.program(0).clone();
        for (_, program) in self.named() {
            let parts = parts_of(program);
            for (name, decl) in &program.states {
                let ty = parts.get(name).copied().unwrap_or(decl.ty);
                let own = whole.states.entry(name.clone()).or_insert_with(|| decl.clone());
                own.ty = ty;
            }
        }
        whole
    }

    /// Which part a rank has of what is cut, and of how many.
    fn place(&self, comm: &dyn Comm) -> (usize, usize) {
        match self {
            Spread::Same(_) => (comm.rank(), comm.world()),
            Spread::Served(_, sides) => (comm.rank().saturating_sub(sides.trainers), sides.servers),
        }
    }

    /// Cuts the states that were given: of some, a rank has a part.
    pub fn cut(&self, state: &State) -> Result<()> {
        let comm = dist::current();
        let parts = parts_of(self.program(comm.rank()));
        for (name, cell) in state.cells() {
            if let (Some(whole), Some(held)) = (parts.get(&name), cell.declaration())
                && held.ty == *whole
            {
                cell.put(held.role, part(&state.tensor(&name)?, self.place(&*comm))?);
            }
        }
        Ok(())
    }

    /// Puts states together of which ranks have parts, one after another; rank 0 keeps them.
    pub fn put_together(&self, state: &State, is_asked: impl Fn(&str) -> bool) -> Result<()> {
        let comm = dist::current();
        match self {
            Spread::Same(program) => {
                let cells = state.cells();
                for (name, whole) in parts_of(program).iter().filter(|(name, _)| is_asked(name)) {
                    let Some(cell) = cells.get(name) else { continue };
                    let all = comm.all_gather(state.tensor(name)?)?;
                    if let Some(held) = cell.declaration().filter(|_| comm.rank() == 0) {
                        cell.put(held.role, shaped(&all, whole)?);
                    }
                }
                Ok(())
            }
            Spread::Served(served, sides) => handed_over(served, *sides, &*comm, state, is_asked),
        }
    }
}

/// States that only servers have come to rank 0.
fn handed_over(
    served: &Served,
    sides: Sides,
    comm: &dyn Comm,
    state: &State,
    is_asked: impl Fn(&str) -> bool,
) -> Result<()> {
    let parts: BTreeMap<Arc<str>, Type> = parts_of(&served.server);
    let is_theirs = |name: &str| !served.trainer.states.contains_key(name) && is_asked(name);
    for (name, decl) in served.server.states.iter().filter(|(name, _)| is_theirs(name)) {
        let ty = parts.get(name).unwrap_or(&decl.ty);
        if comm.rank() >= sides.trainers {
            let mut tensor = state.tensor(name)?;
            if parts.contains_key(name) {
                tensor = shaped(&dist::gathered_from(sides.trainers, tensor)?, ty)?;
            }
            if comm.rank() == sides.trainers {
                comm.send(tensor, 0, TAG)?;
            }
        } else if comm.rank() == 0 {
            let sizes = ty.sizes().ok_or_else(|| unknown(name))?;
            let like = Tensor::zeros(ty.dtype(), &sizes)?;
            state.insert(name, decl.role, comm.recv(like, sides.trainers, TAG)?)?;
        }
    }
    Ok(())
}

fn unknown(name: &str) -> Error {
    Error::internal(format!("the sizes of `{name}` should be known"))
}

/// The whole of all parts, one behind another.
fn shaped(all: &Tensor, whole: &Type) -> Result<Tensor> {
    let sizes = whole.sizes().ok_or_else(|| unknown("a state"))?;
    all.slice(0, 0, sizes.iter().product(), 1)?.contiguous()?.reshape(&sizes)
}

/// A part of a tensor.
fn part(whole: &Tensor, (place, parts): (usize, usize)) -> Result<Tensor> {
    let length = whole.numel().div_ceil(parts);
    let first = (place * length).min(whole.numel());
    let flat = whole.contiguous()?.reshape(&[whole.numel()])?;
    let own = flat.slice(0, first, length.min(whole.numel() - first), 1)?.contiguous()?;
    let mut part = Tensor::zeros(whole.dtype(), &[length])?;
    let bytes = own.as_bytes().unwrap_or(&[]);
    part.as_bytes_mut()?[..bytes.len()].copy_from_slice(bytes);
    Ok(part)
}
