//! A reader that is stopped anywhere and started again from its position gives what would have come, for
//! random compositions of stages, with threads and without.

mod sources;

use fluvial_data::{Position, Reader, Sample};
use sources::register;

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}

/// A random reader as text. Readers that do not fit together occur, and are passed over.
fn random(rng: &mut Rng, depth: u64) -> String {
    let mut text = match rng.below(if depth > 0 { 8 } else { 5 }) {
        0 | 1 => r#"memory("numbers")"#.to_owned(),
        2 => r#"memory("others")"#.to_owned(),
        3 => r#"stream("counting")"#.to_owned(),
        4 => r#"memory("sequences").pad("s", length="len")"#.to_owned(),
        5 => {
            let inner = random(rng, depth - 1);
            format!(r#"zip({inner}.select("x"), {}.select("x").rename("x", "z"))"#, inner)
        }
        _ => format!("interleave({}, {})", random(rng, depth - 1), random(rng, depth - 1)),
    };
    for _ in 0..rng.below(5) {
        let n = rng.below(4) + 1;
        text += &match rng.below(16) {
            0 | 1 => format!(".shuffle({n}, buffer={})", 1 + rng.below(6)),
            2 => format!(".batch({n})"),
            3 => format!(".batch({n}, drop_last=true)"),
            4 | 5 => format!(".prefetch({n})"),
            6 => ".map(\"negate\")".to_owned(),
            7 => ".filter(\"odd\")".to_owned(),
            8 => ".cast(\"x\", f32)".to_owned(),
            9 => format!(".scale(\"x\", 0.5, offset={n})"),
            10 => format!(".take({})", 4 * n + 3),
            11 => format!(".skip({n})"),
            12 => format!(".repeat({})", 1 + n / 2),
            13 => format!(".shard({}, {n})", n - 1),
            14 => format!(".bucket({n}, \"s\", sizes=[2, 5])"),
            _ => ".select(\"x\")".to_owned(),
        };
    }
    text
}

fn rest(reader: &Reader, from: Position) -> Option<(Vec<Sample>, Vec<Position>)> {
    let mut cursor = reader.open().ok()?.start(from).ok()?;
    let (mut results, mut positions) = (Vec::new(), vec![cursor.position()]);
    while let Some(result) = cursor.next().ok()? {
        results.push(result);
        positions.push(cursor.position());
    }
    assert_eq!(cursor.position(), Position { epoch: from.epoch + 1, index: 0 });
    Some((results, positions))
}

fn equal(a: &[Sample], b: &[Sample]) -> bool {
    let same = |a: &Sample, b: &Sample| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.bitwise_eq(b))
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

/// The reader without `prefetch`.
fn alone(text: &str) -> String {
    let mut out = text.to_owned();
    for n in 1..=4 {
        out = out.replace(&format!(".prefetch({n})"), "");
    }
    out
}

#[test]
fn every_position_of_random_readers_can_be_resumed() {
    register();
    let mut rng = Rng(5);
    let (mut n_read, mut n_by_number, mut n_threaded) = (0, 0, 0);
    while n_read < 400 {
        let text = random(&mut rng, 2);
        let reader: Reader = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(reader.to_string().parse::<Reader>().unwrap(), reader);
        let epoch = rng.below(3);
        let Some((results, positions)) = rest(&reader, Position { epoch, index: 0 }) else {
            continue;
        };
        n_read += 1;
        let open = reader.open().unwrap();
        if let Some(len) = open.len(epoch) {
            assert_eq!(len, results.len() as u64, "{text}");
            n_by_number += 1;
        }
        for result in &results {
            for (tensor, field) in result.iter().zip(open.fields()) {
                let dims = tensor.dims().iter().zip(field.ty.dims());
                assert_eq!(tensor.dtype(), field.ty.dtype(), "{text}");
                assert_eq!(tensor.rank(), field.ty.rank(), "{text}");
                for (&size, dim) in dims {
                    assert!(dim.value().is_none_or(|value| value == size), "{text}: {}", field.ty);
                }
            }
        }
        if text.contains("prefetch") {
            n_threaded += 1;
            let (plain, _) = rest(&alone(&text).parse().unwrap(), positions[0]).unwrap();
            assert!(equal(&plain, &results), "{text} gives others without threads");
        }
        for (k, &position) in positions.iter().enumerate() {
            assert_eq!(position, Position { epoch, index: k as u64 });
            let (resumed, _) = rest(&reader, position).unwrap();
            assert!(equal(&resumed, &results[k..]), "{text} differs when resumed at {k}");
        }
    }
    assert!(
        n_by_number > 100 && n_by_number < 300 && n_threaded > 100,
        "{n_by_number} {n_threaded}"
    );
}

#[test]
fn looking_ahead_changes_nothing() {
    register();
    let mut rng = Rng(17);
    let mut n_read = 0;
    while n_read < 100 {
        let text = random(&mut rng, 1);
        let reader: Reader = text.parse().unwrap();
        let Some((results, positions)) = rest(&reader, Position::default()) else { continue };
        n_read += 1;
        let mut cursor = reader.open().unwrap().start(Position::default()).unwrap();
        for (result, position) in results.iter().zip(&positions) {
            assert!(cursor.has_next().unwrap() && cursor.has_next().unwrap(), "{text}");
            assert_eq!(cursor.position(), *position);
            let next = cursor.next().unwrap().unwrap();
            assert!(equal(std::slice::from_ref(&next), std::slice::from_ref(result)), "{text}");
        }
        assert!(!cursor.has_next().unwrap(), "{text}");
        assert_eq!(cursor.position().index, results.len() as u64);
        assert!(cursor.next().unwrap().is_none());
    }
}

#[test]
fn passes_follow_one_another() {
    register();
    for text in [
        r#"memory("numbers").shuffle(3).batch(4).prefetch(2)"#,
        r#"stream("counting").shuffle(3, buffer=4).batch(4).prefetch(2)"#,
        r#"memory("numbers").filter("odd").batch(2)"#,
    ] {
        let reader: Reader = text.parse().unwrap();
        let mut cursor = reader.open().unwrap().start(Position::default()).unwrap();
        for epoch in 0..3 {
            let (expected, _) = rest(&reader, Position { epoch, index: 0 }).unwrap();
            let mut results = Vec::new();
            while let Some(result) = cursor.next().unwrap() {
                results.push(result);
            }
            assert!(equal(&results, &expected), "{text}, pass {epoch}");
            cursor.next_epoch();
        }
    }
}

#[test]
fn starting_far_into_a_pass_reads_nothing_before() {
    let huge = r#"memory("numbers").repeat(400000000000).shuffle(1).batch(16).prefetch(1)"#;
    register();
    let open = huge.parse::<Reader>().unwrap().open().unwrap();
    let last = open.len(0).unwrap() - 1;
    let mut cursor = open.start(Position { epoch: 3, index: last }).unwrap();
    assert!(cursor.next().unwrap().is_some());
    assert!(cursor.next().unwrap().is_none());
}
