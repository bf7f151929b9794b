//! Small random changes to ops and files.

use std::sync::Arc;

use fluvial_core::{Attr, Attrs, Block, DType, Dim, OpRef, Registry, Result, Tensor, Type};

use super::rng::Rng;

const INTS: [i64; 12] = [0, 1, -1, 2, 3, 7, -2, -8, 1 << 31, 1 << 40, i64::MAX, i64::MIN];
const FLOATS: [f64; 9] =
    [0.0, -0.0, 1.0, -1.0, 0.5, 1e308, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

/// The op with one or two of its attributes changed, or why there is no such op.
pub fn mutated_op(rng: &mut Rng, op: &OpRef, registry: &Registry) -> Result<OpRef> {
    let mut attrs: Vec<(String, Attr)> =
        op.attrs().iter().map(|(name, attr)| (name.to_string(), attr.clone())).collect();
    for _ in 0..1 + rng.below(2) {
        if attrs.is_empty() {
            break;
        }
        let i = rng.below(attrs.len());
        match rng.below(20) {
            0 => drop(attrs.remove(i)),
            1 => attrs[i].0.push('x'),
            2 => attrs[i].1 = random_attr(rng),
            _ => attrs[i].1 = mutated(rng, &attrs[i].1),
        }
    }
    let mut changed = Attrs::new();
    attrs.into_iter().for_each(|(name, attr)| changed.push(name, attr));
    registry.make(op.name(), &changed)
}

fn mutated(rng: &mut Rng, attr: &Attr) -> Attr {
    match attr {
        Attr::None => random_attr(rng),
        Attr::Bool(value) => Attr::Bool(!value),
        Attr::Int(_) if rng.one_in(4) => Attr::Dim(random_dim(rng)),
        Attr::Int(_) if rng.one_in(8) => Attr::None,
        Attr::Int(value) => match rng.below(3) {
            0 => Attr::Int(value.wrapping_add(1)),
            1 => Attr::Int(value.wrapping_neg()),
            _ => Attr::Int(*rng.pick(&INTS)),
        },
        Attr::Float(_) => Attr::Float(*rng.pick(&FLOATS)),
        Attr::Str(_) => Attr::Str((*rng.pick(&["", "x", "w.0", "\u{0}\"\n"])).into()),
        Attr::Dim(_) => match rng.one_in(2) {
            true => Attr::Dim(random_dim(rng)),
            false => Attr::Int(*rng.pick(&INTS)),
        },
        Attr::DType(_) => Attr::DType(*rng.pick(&DType::ALL)),
        Attr::Type(_) => Attr::Type(random_type(rng)),
        Attr::Tensor(_) => random_attr(rng),
        Attr::List(items) => Attr::List(mutated_list(rng, items)),
        Attr::Block(block) => Attr::Block(Arc::new(mutated_block(rng, block))),
    }
}

fn mutated_list(rng: &mut Rng, items: &[Attr]) -> Vec<Attr> {
    let mut items = items.to_vec();
    let i = rng.below(items.len().max(1));
    match rng.below(5) {
        0 => items.clear(),
        1 => items.insert(i, Attr::Int(*rng.pick(&INTS))),
        2 if !items.is_empty() => drop(items.remove(i)),
        3 if !items.is_empty() => items.push(items[i].clone()),
        _ if !items.is_empty() => items[i] = mutated(rng, &items[i]),
        _ => {}
    }
    items
}

/// The block changed in a way that the verifier accepts as far as the block itself goes.
fn mutated_block(rng: &mut Rng, block: &Block) -> Block {
    // Not a clone: what was found out about a block does not hold for a changed one.
    let mut changed = Block::default();
    changed.types = block.types.clone();
    changed.n_params = block.n_params;
    changed.calls = block.calls.clone();
    changed.results = block.results.clone();
    let n_values = changed.types.len();
    match rng.below(4) {
        0 => drop(changed.results.pop()),
        1 if n_values > 0 => changed.results.push(rng.below(n_values) as u32),
        2 if changed.n_params > 0 => {
            let i = rng.below(changed.n_params);
            changed.types[i] = random_type(rng);
        }
        _ if n_values > 0 && !changed.results.is_empty() => {
            let i = rng.below(changed.results.len());
            changed.results[i] = rng.below(n_values) as u32;
        }
        _ => {}
    }
    changed
}

fn random_attr(rng: &mut Rng) -> Attr {
    match rng.below(9) {
        0 => Attr::None,
        1 => Attr::Bool(rng.one_in(2)),
        2 => Attr::Int(*rng.pick(&INTS)),
        3 => Attr::Float(*rng.pick(&FLOATS)),
        4 => Attr::Dim(random_dim(rng)),
        5 => Attr::DType(*rng.pick(&DType::ALL)),
        6 => Attr::Type(random_type(rng)),
        7 => Attr::Tensor(Tensor::scalar(*rng.pick(&FLOATS))),
        _ => Attr::List((0..rng.below(3)).map(|_| Attr::Int(*rng.pick(&INTS))).collect()),
    }
}

/// A size that is rarely plain.
fn random_dim(rng: &mut Rng) -> Dim {
    let texts =
        ["n", "m", "n + 1", "2*n", "n - m", "n//2", "n*n*m", "0", "1", "3", "4611686018427387904"];
    Dim::parse(rng.pick::<&str>(&texts)).expect("a size that is written as sizes are")
}

/// A type: mostly of few small axes, sometimes a list, or with symbols, or huge.
pub fn random_type(rng: &mut Rng) -> Type {
    let rank = if rng.one_in(10) { rng.below(9) } else { rng.below(4) };
    let dims: Vec<Dim> = (0..rank)
        .map(|_| match rng.below(6) {
            0 => random_dim(rng),
            n => Dim::size(n - 1),
        })
        .collect();
    let tensor = Type::new(*rng.pick(&DType::ALL), &dims).expect("at most eight axes");
    let n_lists = if rng.one_in(6) { 1 + rng.below(2) } else { 0 };
    (0..n_lists).fold(tensor, |ty, _| ty.list_of().expect("few lists"))
}

/// Numbers that readers like to trust.
const HOSTILE: [u64; 8] =
    [0, 1, 0x7f, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, 0x7fff_ffff_ffff_fff8];

/// The bytes with a few of them changed, removed, repeated or replaced by numbers.
pub fn mutated_bytes(rng: &mut Rng, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + rng.below(3) {
        if bytes.is_empty() {
            break;
        }
        let i = rng.below(bytes.len());
        let end = (i + 1 + rng.below(8)).min(bytes.len());
        match rng.below(8) {
            5 => bytes[i] ^= 1 << rng.below(8),
            6 => drop(bytes.splice(i..end, rng.pick(&HOSTILE).to_string().bytes())),
            7 => {
                let number = rng.pick(&HOSTILE).to_le_bytes();
                let len = [1, 2, 4, 8][rng.below(4)].min(bytes.len() - i);
                bytes[i..i + len].copy_from_slice(&number[..len]);
                if rng.one_in(2) {
                    bytes[i..i + len].reverse();
                }
            }
            0 => bytes[i] = rng.bits() as u8,
            1 => bytes[i] = *rng.pick(b"(){}[]<>%@=:,\"0123456789 -+*/#.ae"),
            2 => drop(bytes.drain(i..end)),
            3 => {
                let copy = bytes[i..end].to_vec();
                let to = rng.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            _ => bytes.truncate(i),
        }
    }
    bytes
}
