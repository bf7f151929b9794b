//! Readers and verifier on damaged and random input, with fixed seeds: a program or an error, never
//! a panic.
//! `crates/core/fuzz` runs the same for as long as one likes.

mod programs;

use fluvial_core::verify::faults;
use fluvial_core::{Block, Program, Registry};
use programs::random::{self, Rng};
use programs::{hard, model, ops::registry, trained, ty};

/// What a text gives is printed as what reads back the same.
fn read_text(text: &str, registry: &Registry) -> bool {
    let Ok(program) = Program::parse(text, registry) else { return false };
    let printed = program.to_string();
    let again = Program::parse(&printed, registry).unwrap_or_else(|e| panic!("{printed}\n{e}"));
    assert_eq!(again.to_string(), printed);
    true
}

/// The same for bytes.
fn read_bytes(bytes: &[u8], registry: &Registry) -> bool {
    let Ok(program) = Program::from_bytes(bytes, registry) else { return false };
    let written = program.to_bytes();
    let again = Program::from_bytes(&written, registry).unwrap();
    assert_eq!(again.to_bytes(), written);
    true
}

/// Puts the checksum at the end right: the key of the field and four bytes.
fn seal(bytes: &mut Vec<u8>) {
    bytes.truncate(bytes.len().saturating_sub(5));
    let sum = crc32fast::hash(bytes);
    bytes.push(0x5d);
    bytes.extend(sum.to_le_bytes());
}

fn seeds() -> Vec<Program> {
    let random = (0..40).map(|seed| random::program(&mut Rng::new(seed)));
    [model(), trained(), hard()].into_iter().chain(random).collect()
}

/// Changes a few places: a byte, a stretch removed, repeated, moved or taken from elsewhere.
fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8], alphabet: &[u8]) {
    for _ in 0..1 + rng.below(3) {
        if bytes.is_empty() {
            return;
        }
        let start = rng.below(bytes.len());
        let end = (start + 1 + rng.below(20)).min(bytes.len());
        match rng.below(6) {
            0 => bytes[start] ^= 1 << rng.below(8),
            1 => bytes[start] = *rng.pick(alphabet),
            2 => drop(bytes.drain(start..end)),
            3 => {
                let stretch = bytes[start..end].to_vec();
                let at = rng.below(bytes.len());
                bytes.splice(at..at, stretch);
            }
            4 => {
                let from = rng.below(other.len());
                let stretch = &other[from..(from + 1 + rng.below(30)).min(other.len())];
                bytes.splice(start..end, stretch.iter().copied());
            }
            _ => bytes.truncate(start),
        }
    }
}

#[test]
fn mutated_texts() {
    let registry = registry();
    let texts: Vec<String> = seeds().iter().map(|program| program.to_string()).collect();
    let alphabet = b"{}[]()<>%@#:=,.*/+-\"\\ \n0123456789abefnatilx?";
    let mut rng = Rng::new(1);
    let mut n_read = 0;
    for _ in 0..2_500 {
        let mut bytes = rng.pick(&texts).clone().into_bytes();
        let other = rng.pick(&texts).as_bytes();
        mutate(&mut rng, &mut bytes, other, alphabet);
        n_read += usize::from(read_text(&String::from_utf8_lossy(&bytes), &registry));
    }
    assert!(n_read > 50, "only {n_read} of the mutated texts were programs");
}

#[test]
fn mutated_bytes() {
    let registry = registry();
    let seeds: Vec<Vec<u8>> = seeds().iter().map(|program| program.to_bytes()).collect();
    let alphabet: Vec<u8> = (0..=255).collect();
    let mut rng = Rng::new(2);
    let mut n_read = 0;
    for _ in 0..6_000 {
        let mut bytes = rng.pick(&seeds).clone();
        let other = rng.pick(&seeds).clone();
        mutate(&mut rng, &mut bytes, &other, &alphabet);
        // With its old checksum, what was changed is refused.
        if rng.below(8) > 0 {
            seal(&mut bytes);
        }
        n_read += usize::from(read_bytes(&bytes, &registry));
    }
    assert!(n_read > 100, "only {n_read} of the mutated files were programs");
}

#[test]
fn random_bytes() {
    let registry = registry();
    let mut rng = Rng::new(3);
    for _ in 0..20_000 {
        let mut bytes: Vec<u8> = (0..rng.below(60)).map(|_| rng.next() as u8).collect();
        read_text(&String::from_utf8_lossy(&bytes), &registry);
        read_bytes(&bytes, &registry);
        bytes.splice(0..0, [0x08, 0x01]);
        read_bytes(&bytes, &registry);
    }
}

#[test]
fn random_tokens() {
    const TOKENS: &[&str] = &[
        "state",
        "@w",
        ":",
        "f32[2]",
        "f32[n]",
        "list",
        "buffer",
        "startup",
        "main",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<n>",
        "%x",
        "%1",
        "=",
        ",",
        "neg",
        "add",
        "toy.repeat",
        "toy.everything",
        "fill",
        "value=1",
        "ty=f32[]",
        "return",
        "as",
        "at",
        "a.rs:1",
        "in",
        "none",
        "nan",
        "(1)",
        "base64",
        "all",
        "\"AA==\"",
        "-3",
        "0.5",
        "#\n",
        "trips=1",
        "body=",
    ];
    let registry = registry();
    let mut rng = Rng::new(4);
    for _ in 0..20_000 {
        let mut text = "fluvial 1 main(%x: f32[]) { ".to_string();
        for _ in 0..rng.below(30) {
            text.push_str(rng.pick::<&str>(TOKENS));
            text.push(' ');
        }
        read_text(&text, &registry);
    }
}

#[test]
fn any_mess_is_verified_and_printed_without_a_panic() {
    let mut rng = Rng::new(7);
    for seed in 0..300 {
        let mut program = random::program(&mut Rng::new(seed));
        for _ in 0..1 + rng.below(3) {
            let block = if rng.below(4) == 0 { &mut program.startup } else { &mut program.main };
            mess(&mut rng, block);
        }
        let found = faults(&program);
        let listing = found.to_string();
        assert_eq!(found.is_empty(), listing.is_empty());
        let _ = (program.to_string(), program.to_bytes());
    }
}

/// Breaks a block somewhere.
fn mess(rng: &mut Rng, block: &mut Block) {
    let id = *rng.pick(&[0, 1, 2, 5, 100, u32::MAX]);
    match rng.below(8) {
        0 => block.n_params = id as usize,
        1 => block.types.truncate(2),
        2 => block.types.push(ty("f32[n]")),
        3 => block.results.push(id),
        4 => drop(block.names.insert(id, "x".into())),
        5 => drop(block.calls.pop()),
        _ => {
            let n_calls = block.calls.len();
            if n_calls == 0 {
                return;
            }
            let call = &mut block.calls[rng.below(n_calls)];
            match rng.below(4) {
                0 => call.first_output = id,
                1 => call.n_outputs = id as usize,
                2 => call.inputs.push(id),
                _ => drop(call.inputs.pop()),
            }
        }
    }
}
