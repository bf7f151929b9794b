//! The text form of readers: what is written reads back the same, and no text does harm.

mod sources;

use fluvial_data::formats::{Setting, Settings};
use fluvial_data::reader::{Edit, Pad};
use fluvial_data::{Reader, files};
use fluvial_tensor::DType;

fn examples() -> Vec<Reader> {
    let list = Setting::List(vec![Setting::Int(1), Setting::List(vec![]), Setting::Bool(true)]);
    let settings = Settings::from([
        ("header".into(), Setting::Bool(false)),
        ("shape".into(), list),
        ("ratio".into(), Setting::Float(1e-30)),
        ("least".into(), Setting::Int(i64::MIN)),
        ("comma".into(), Setting::Text(";\"\\\n\t\u{1}\u{7f}é".into())),
    ]);
    let pad = Pad::of(["a", "b c"]).multiple(8).value(-1.5).length("n").mask("m");
    vec![
        Reader::records("train.rec").shuffle(7).batch(128, true).prefetch(2),
        Reader::zip([Reader::npy("x.npy"), Reader::npy("y.npy")]).batch(1, false),
        Reader::interleave([
            Reader::zip([Reader::stream("s")]).take(0),
            Reader::memory("a \"b\"").skip(u64::MAX),
        ]),
        Reader::files("csv", ["a.csv", "b.csv"], settings).shuffle_window(u64::MAX, 10),
        Reader::memory("m").map("f").filter("g").cast("x", DType::BF16).scale("x", 0.1, -1e300),
        Reader::memory("m").repeat(3).shard(1, 2).select(["x", "y"]).rename("x", "z"),
        Reader::memory("m").pad(pad).pad(Pad::of([])).bucket(4, "s", &[1, 2, 3], true),
        Reader::memory("m").pad(Pad::of(["s"]).size(3)).bucket(4, "s", &[9], false),
        Reader::memory("m")
            .edit("x", Edit::Resize { height: 256, width: None, nearest: true })
            .edit("x", Edit::Resize { height: 2, width: Some(3), nearest: false })
            .edit("x", Edit::CenterCrop { height: 4, width: 5 })
            .edit("x", Edit::RandomCrop { height: 4, width: 5, padding: 6, seed: u64::MAX })
            .edit("x", Edit::Flip { p: 0.25, vertical: true, seed: 1 }),
        Reader::memory("m")
            .edit(
                "x",
                Edit::RandomResizedCrop {
                    height: 4,
                    width: 5,
                    scale: [0.1, 1.0],
                    ratio: [0.75, 1.25],
                    seed: 3,
                },
            )
            .edit(
                "x",
                Edit::ColorJitter {
                    brightness: 0.1,
                    contrast: 0.2,
                    saturation: 0.3,
                    hue: 0.4,
                    seed: 5,
                },
            )
            .edit("x", Edit::Normalize { mean: vec![0.5, -1.0], std: vec![1e-3, 2.0] })
            .edit("x", Edit::ChannelsFirst),
    ]
}

#[test]
fn what_is_written_reads_back() {
    for reader in examples() {
        let text = reader.to_string();
        assert_eq!(text.parse::<Reader>().unwrap_or_else(|e| panic!("{text}: {e}")), reader);
        assert!(!text.contains('\n'));
        assert_eq!(format!("{reader:?}"), format!("Reader({text})"));
    }
    assert_eq!(
        examples()[0].to_string(),
        r#"records("train.rec").shuffle(seed=7).batch(128, drop_last=true).prefetch(2)"#
    );
    assert_eq!(
        examples()[6].to_string(),
        r#"memory("m").pad("a", "b c", multiple=8, value=-1.5, length="n", mask="m").pad().bucket(4, "s", sizes=[1, 2, 3], drop_last=true)"#
    );
    let spaced = " records ( \"train.rec\" )\n  . shuffle ( 7 )\n  .batch( 128 , drop_last = true ) .prefetch(n=2) ";
    assert_eq!(spaced.parse::<Reader>().unwrap(), examples()[0]);
}

#[test]
fn faults_are_named_with_their_place() {
    for (text, expected) in [
        ("", "character 1: expected a source"),
        ("records", "character 8: expected `(`"),
        ("records(\"a\"", "character 12: expected `,`"),
        ("records(\"a", "character 11: expected a closing quote"),
        ("records(\"\\x\")", "character 10: expected a closing quote, or one of"),
        ("records(\"\\u{110000}\")", "character 10: expected a code point"),
        ("records(\"é\") x", "character 14: expected `.` and a stage, or the end"),
        ("records(a=1, \"b\")", "character 14: expected an argument that is not given twice"),
        ("records(a=1, a=2)", "character 14: expected an argument that is not given twice"),
        ("records(\"a\", b=c)", "character 16: `b` of `records` must be a number of 64 bits"),
        ("memory()", "`memory` needs an argument `name`"),
        ("memory(\"a\", \"b\")", "character 13: `memory` has fewer arguments"),
        ("memory(\"a\").fly(1)", "character 13: there is no stage `fly`"),
        ("memory(\"a\").batch()", "`batch` needs an argument `size`"),
        ("memory(\"a\").batch(0)", "the size is 0, but must be between 1 and 16777216"),
        ("memory(\"a\").batch(-1)", "character 19: `size` of `batch` must be a whole number"),
        ("memory(\"a\").batch(2, seed=1)", "character 27: `batch` has no argument `seed`"),
        ("memory(\"a\").batch(2, 3)", "`drop_last` of `batch` must be `true` or `false`"),
        ("memory(\"a\").take(99999999999999999999)", "must be a whole number from 0 to 2^64 - 1"),
        ("memory(\"a\").take(1x)", "character 18: expected a number"),
        ("memory(\"a\").scale(\"x\", 1e999)", "expected a number"),
        ("memory(\"a\").cast(\"x\", f33)", "`f33` is not an element type"),
        ("memory(\"a\").shard(2, 2)", "there is no rank 2 in a world of 2"),
        ("memory(\"a\").repeat(0)", "the number of passes is 0"),
        ("memory(\"a\").prefetch(5000)", "must be between 1 and 1024"),
        ("memory(\"a\").select()", "no field is named"),
        ("memory(\"a\").pad(size=1, multiple=2)", "both a size and a multiple"),
        ("memory(\"a\").pad(size=0)", "size 0"),
        ("memory(\"a\").bucket(2, \"x\", sizes=[3, 2])", "not ascending"),
        ("memory(\"a\").bucket(2, \"x\", sizes=[])", "not ascending"),
        ("zip()", "expected a source"),
    ] {
        let error = text.parse::<Reader>().unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn deep_and_long_texts_are_refused() {
    for n in [40, 100_000] {
        let zips = format!("{}memory(\"a\"){}", "zip(".repeat(n), ")".repeat(n));
        assert!(zips.parse::<Reader>().is_err());
        let lists = format!("csv(\"a\", b={}{})", "[".repeat(n), "]".repeat(n));
        assert!(lists.parse::<Reader>().is_err());
    }
    let stages = |n: usize| format!("memory(\"a\"){}", ".take(1)".repeat(n));
    assert!(stages(199).parse::<Reader>().is_ok());
    assert!(stages(200).parse::<Reader>().is_err());
    assert!(stages(100_000).parse::<Reader>().is_err());
    let nested = format!("zip({}){}", stages(150), ".take(1)".repeat(100));
    assert!(nested.parse::<Reader>().is_err());
}

#[test]
fn deep_readers_run() {
    sources::register();
    let stages = [".take(9)", ".filter(\"odd\")", ".map(\"negate\")", ".prefetch(1)"];
    for stage in stages {
        let mut text = format!("memory(\"numbers\"){}", stage.repeat(150));
        for _ in 0..20 {
            text = format!("interleave({text})");
        }
        let reader: Reader = text.parse().unwrap();
        assert!(reader.iter().unwrap().all(|result| result.is_ok()));
    }
}

#[test]
fn only_the_users_own_code_allows_files() {
    let folder = std::env::temp_dir().join(format!("fluvial-reader-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("allowed.rec").display().to_string();
    let reader = Reader::zip([Reader::records(&path), Reader::memory("a")]).take(1);
    let parsed: Reader = reader.to_string().parse().unwrap();
    assert!(parsed.open().is_err());
    assert!(files::resolve(&path).is_err());
    reader.allow().unwrap();
    assert!(files::resolve(&path).is_ok());
    std::fs::remove_dir_all(&folder).unwrap();
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// Changes a few places: a byte, a digit, a stretch or a stage removed, repeated or taken from elsewhere.
fn mutate(rng: &mut Rng, text: &mut Vec<u8>, other: &[u8]) {
    let alphabet = b"()[]=,.\"\\ \n0123456789-eabfutsx_{}";
    for _ in 0..1 + rng.below(3) {
        if text.is_empty() {
            return;
        }
        let start = rng.below(text.len());
        let end = (start + 1 + rng.below(12)).min(text.len());
        match rng.below(9) {
            0 => text[start] ^= 1 << rng.below(8),
            1 => text[start] = alphabet[rng.below(alphabet.len())],
            2 => drop(text.drain(start..end)),
            3 => {
                let stretch = text[start..end].to_vec();
                text.splice(start..start, stretch);
            }
            4 | 5 => {
                let digit = text[start..].iter().position(u8::is_ascii_digit).unwrap_or(0);
                text[start + digit] = b'0' + rng.below(10) as u8;
            }
            6 | 7 => {
                let mut stages: Vec<&[u8]> = text.split(|&c| c == b'.').collect();
                let stage = rng.below(stages.len());
                match rng.below(2) {
                    0 => drop(stages.remove(stage)),
                    _ => stages.insert(rng.below(stages.len()) + 1, stages[stage]),
                }
                *text = stages.join(&b'.');
            }
            _ => {
                let from = rng.below(other.len());
                let stretch = &other[from..(from + 1 + rng.below(20)).min(other.len())];
                text.splice(start..end, stretch.iter().copied());
            }
        }
    }
}

#[test]
fn mutated_texts_give_readers_or_errors() {
    sources::register();
    let mut texts: Vec<String> = examples().iter().map(ToString::to_string).collect();
    // Those that can be opened are tried more often.
    for _ in 0..8 {
        texts.extend(
            [
                r#"memory("numbers").shuffle(1).batch(4).map("negate").prefetch(2)"#,
                r#"zip(memory("numbers"), stream("counting").rename("x", "a").select("a"))"#,
                r#"memory("sequences").pad(multiple=4).bucket(2, "s", sizes=[3, 5])"#,
            ]
            .map(str::to_owned),
        );
    }
    let mut rng = Rng(1);
    let (mut n_parsed, mut n_read) = (0, 0);
    for _ in 0..20_000 {
        let mut bytes = texts[rng.below(texts.len())].clone().into_bytes();
        let other = texts[rng.below(texts.len())].clone();
        mutate(&mut rng, &mut bytes, other.as_bytes());
        let Ok(reader) = String::from_utf8_lossy(&bytes).parse::<Reader>() else { continue };
        n_parsed += 1;
        let printed = reader.to_string();
        assert_eq!(printed.parse::<Reader>().unwrap_or_else(|e| panic!("{printed}: {e}")), reader);
        let Ok(open) = reader.open() else { continue };
        let mut cursor = open.start(Default::default()).unwrap();
        n_read += usize::from(matches!(cursor.next(), Ok(Some(_))));
    }
    assert!(n_parsed > 1000 && n_read > 300, "{n_parsed} parsed, {n_read} read");
}
