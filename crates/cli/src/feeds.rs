//! The inputs of a program: from files, from numbers on the command line, or made up.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use fluvial::core::{Dim, Error, Program, Sizes, Tensor, Type};

use crate::fault::{Outcome, usage};
use crate::names;
use crate::tensors;

/// Where inputs come from.
#[derive(Args)]
pub struct FeedArgs {
    /// A file for an input (`x=x.npy`), or for all inputs that it names (`feeds.npz`); `-` is standard input. May
    /// be repeated.
    #[arg(short, long = "feed", value_name = "[NAME=]FILE")]
    pub feeds: Vec<String>,
}

/// For commands that make up inputs that no file is given for.
#[derive(Args)]
pub struct SizeArgs {
    /// A size that made-up inputs have (`batch=32`); 8 for symbols that are not named.
    #[arg(long = "size", value_name = "SYMBOL=N")]
    pub sizes: Vec<String>,
    /// The seed of made-up numbers.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

/// The size of symbols of which nothing is said.
const DEFAULT_SIZE: usize = 8;

/// Tensors by the names of inputs, and where they come from.
#[derive(Default)]
pub struct Feeds(BTreeMap<Arc<str>, (Tensor, String)>);

impl Feeds {
    /// Reads the files that are given for inputs.
    pub fn read(program: &Program, args: &FeedArgs) -> Outcome<Feeds> {
        let mut feeds = Feeds::default();
        for given in &args.feeds {
            let (name, path) = match given.split_once('=') {
                Some((name, path)) if !Path::new(given).exists() => (Some(name), path),
                _ => (None, given.as_str()),
            };
            if let Some(name) = name {
                known(program, name, given)?;
            }
            let mut found = tensors::read(Path::new(path))?;
            let only = if let [only] = &*program.inputs { Some(only) } else { None };
            match (name, found.len()) {
                (Some(name), 1) => feeds.add(name, found.remove(0).1, path)?,
                (Some(name), _) => match found.into_iter().find(|(key, _)| key == name) {
                    Some((_, tensor)) => feeds.add(name, tensor, path)?,
                    None => {
                        let what = format!("`{path}` has several tensors, and none named `{name}`");
                        return Err(Error::argument(what)
                            .remedy("give the file without a name, or one with a single tensor")
                            .into());
                    }
                },
                (None, _) if found.iter().any(|(key, _)| key.is_empty()) => match only {
                    Some(name) => feeds.add(name, found.remove(0).1, path)?,
                    None => {
                        let inputs = program.inputs.join(", ");
                        let what = format!("`{path}` does not say which input it is for");
                        return Err(usage(what, format!("write NAME={path}; inputs: {inputs}")));
                    }
                },
                (None, _) => {
                    for (key, tensor) in found {
                        known(program, &key, path)?;
                        feeds.add(&key, tensor, path)?;
                    }
                }
            }
        }
        Ok(feeds)
    }

    /// Feeds an input. `from` says where the tensor comes from.
    pub fn add(&mut self, name: &str, tensor: Tensor, from: &str) -> Outcome<()> {
        match self.0.insert(name.into(), (tensor, from.to_string())) {
            Some((_, other)) => {
                let what = format!("the input `{name}` is fed twice: by `{other}` and by `{from}`");
                Err(usage(what, "feed each input once"))
            }
            None => Ok(()),
        }
    }

    /// The tensors in the order of the inputs. All have to be there, with types that fit together.
    pub fn in_order<'a>(&self, program: &'a Program) -> Outcome<Vec<(&'a str, Tensor)>> {
        self.sizes(program)?;
        let mut fed = Vec::new();
        for (name, ty) in program.inputs.iter().zip(program.input_types()) {
            let Some((tensor, _)) = self.0.get(name) else {
                let remedy = match ty.rank() {
                    0 => format!("give a number: --set {name}=0.5, or a file: --feed {name}=FILE"),
                    _ => format!("--feed {name}=FILE.npy"),
                };
                return Err(usage(format!("the input `{name}` is not fed: {ty}"), remedy));
            };
            fed.push((&**name, tensor.clone()));
        }
        Ok(fed)
    }

    /// Whether an input has to be made up.
    pub fn lacks_any(&self, program: &Program) -> bool {
        program.inputs.iter().any(|name| !self.0.contains_key(name))
    }

    /// Like [`in_order`](Feeds::in_order), with made-up numbers for inputs that are not fed.
    pub fn made_up<'a>(
        &self,
        program: &'a Program,
        args: &SizeArgs,
    ) -> Outcome<Vec<(&'a str, Tensor)>> {
        self.filled(program, args, made_up)
    }

    /// Like [`made_up`](Feeds::made_up), for those who look at types only: there are no numbers.
    pub fn empty<'a>(
        &self,
        program: &'a Program,
        args: &SizeArgs,
    ) -> Outcome<Vec<(&'a str, Tensor)>> {
        // All elements are one number, so that no size takes memory.
        self.filled(program, args, |ty, _| Tensor::zeros(ty.dtype(), &[])?.expand(&sizes_of(ty)?))
    }

    fn filled<'a>(
        &self,
        program: &'a Program,
        args: &SizeArgs,
        fill: impl Fn(&Type, u64) -> Result<Tensor, Error>,
    ) -> Outcome<Vec<(&'a str, Tensor)>> {
        let learnt = self.sizes(program)?;
        let given = sizes(program, args)?;
        let size = |symbol: Dim| {
            let name = symbol.symbol_name().unwrap_or_default();
            let size = given.get(&*name).copied().unwrap_or(DEFAULT_SIZE);
            Some(learnt.get(symbol).unwrap_or(Dim::size(size)))
        };
        let mut fed = Vec::new();
        for (i, (name, ty)) in program.inputs.iter().zip(program.input_types()).enumerate() {
            let tensor = match self.0.get(name) {
                Some((tensor, _)) => tensor.clone(),
                None => fill(&ty.substitute(&size)?, args.seed.wrapping_add(i as u64))?,
            };
            fed.push((&**name, tensor));
        }
        Ok(fed)
    }

    /// Checks the types of what is fed, and returns the sizes of symbols.
    fn sizes(&self, program: &Program) -> Outcome<Sizes> {
        let mut sizes = Sizes::default();
        for (name, ty) in program.inputs.iter().zip(program.input_types()) {
            let Some((tensor, from)) = self.0.get(name) else { continue };
            let found = tensor.ty();
            sizes.unify(ty, &found).map_err(|error| {
                let what = format!("the input `{name}` is {ty}, but `{from}` has {found}");
                let remedy = match ty.dtype() == found.dtype() {
                    true => "give it the sizes that the program declares".to_string(),
                    false => format!("save it with elements of type {}", ty.dtype()),
                };
                Error::new(error.kind(), what).remedy(remedy).note(error.message())
            })?;
        }
        Ok(sizes)
    }
}

/// Refuses names that are none of an input.
fn known(program: &Program, name: &str, given: &str) -> Outcome<()> {
    let mut inputs = program.inputs.iter().map(|input| &**input);
    match inputs.any(|input| input == name) {
        true => Ok(()),
        false => {
            let known = names::listed(name, program.inputs.iter().map(|input| &**input));
            let what = format!("the program has no input `{name}`, which `{given}` names");
            Err(usage(what, format!("its inputs: {known}")))
        }
    }
}

/// The sizes on the command line, by symbol.
fn sizes<'a>(program: &Program, args: &'a SizeArgs) -> Outcome<BTreeMap<&'a str, usize>> {
    let symbols = program.input_types().iter().flat_map(|ty| ty.dims().to_vec());
    let symbols: Vec<Arc<str>> =
        symbols.flat_map(Dim::symbols).filter_map(Dim::symbol_name).collect();
    let mut sizes = BTreeMap::new();
    for given in &args.sizes {
        let parsed = given.split_once('=').and_then(|(name, n)| Some((name, n.parse().ok()?)));
        let Some((name, size)) = parsed else {
            return Err(usage(format!("`{given}` is not a size"), "write --size SYMBOL=NUMBER"));
        };
        if !symbols.iter().any(|symbol| &**symbol == name) {
            let mut known: Vec<&str> = symbols.iter().map(|symbol| &**symbol).collect();
            known.sort_unstable();
            known.dedup();
            let what = format!("no input of the program has the size `{name}`");
            return Err(usage(what, format!("its symbols: {}", names::listed(name, known))));
        }
        sizes.insert(name, size);
    }
    Ok(sizes)
}

fn sizes_of(ty: &Type) -> Result<Vec<usize>, Error> {
    let sizes = ty.sizes().filter(|_| !ty.is_list());
    sizes.map(|sizes| sizes.to_vec()).ok_or_else(|| {
        Error::argument(format!("no input of type {ty} can be made up")).remedy("feed it")
    })
}

/// Numbers that depend on the seed only: floats from -1 to 1, integers 0 and 1, which are valid as most
/// positions and classes.
fn made_up(ty: &Type, seed: u64) -> Result<Tensor, Error> {
    let dims = sizes_of(ty)?;
    let random = |i: u64| {
        let mut z =
            (seed << 32).wrapping_add(i).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let number = |i: u64| match ty.is_float() {
        true => (random(i) >> 11) as f64 / (1u64 << 52) as f64 - 1.0,
        false => (random(i) & 1) as f64,
    };
    let too_large = || Error::memory(format!("an input of type {ty} is too large"));
    let numel = dims.iter().try_fold(1usize, |all, &n| all.checked_mul(n)).ok_or_else(too_large)?;
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(numel).map_err(|_| too_large())?;
    numbers.extend((0..numel as u64).map(number));
    Tensor::from_f64s(ty.dtype(), &numbers, &dims)
}
