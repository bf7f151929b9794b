//! The binary form: round trips, versions, damaged and hostile bytes, files.

mod programs;
#[path = "../src/proto/generated.rs"]
#[allow(missing_docs, dead_code, clippy::all)]
#[rustfmt::skip]
mod messages;

use expect_test::{Expect, expect};
use fluvial_core::{ErrorKind, Program, Registry};
use messages::value::Kind;
use programs::ops::registry;
use programs::{hard, model, random, trained};
use prost::Message;

/// A program as a message, without checksum.
fn bare() -> messages::Program {
    let message = messages::Program::decode(&model().to_bytes()[..]).unwrap();
    messages::Program { checksum: 0, is_checked: false, ..message }
}

#[test]
fn damaged_bytes_are_noticed_and_older_ones_read() {
    assert_eq!(Program::from_bytes(&bare().encode_to_vec(), &registry()).unwrap(), model());
    let bytes = model().to_bytes();
    for at in 0..bytes.len() {
        for bit in [0, 3, 7] {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert!(Program::from_bytes(&changed, &registry()).is_err(), "byte {at}, bit {bit}");
        }
        assert!(Program::from_bytes(&bytes[..at], &registry()).is_err() || at == bytes.len() - 7);
    }
}

#[track_caller]
fn round_trip(program: &Program) {
    let bytes = program.to_bytes();
    let read = Program::from_bytes(&bytes, &registry()).unwrap();
    assert!(read == *program, "{program}\n--- became ---\n{read}");
    assert_eq!(read.to_bytes(), bytes);
}

#[test]
fn programs_come_back() {
    for program in [Program::default(), model(), hard(), trained()] {
        round_trip(&program);
    }
    for seed in 0..300 {
        round_trip(&random::program(&mut random::Rng::new(seed)));
    }
}

#[test]
fn the_binary_form_is_smaller() {
    for program in [model(), hard()] {
        assert!(program.to_bytes().len() * 4 < program.to_string().len() * 3);
    }
}

/// The message of a program, changed, and why it is refused.
fn check(change: impl FnOnce(&mut messages::Program), expected: Expect) {
    let mut message = bare();
    change(&mut message);
    let error = Program::from_bytes(&message.encode_to_vec(), &registry()).unwrap_err();
    expected.assert_eq(&error.to_string());
}

#[test]
fn versions_are_checked() {
    let kind = |bytes: &[u8]| Program::from_bytes(bytes, &registry()).unwrap_err().kind();
    assert_eq!(kind(&[0x08, 0x02]), ErrorKind::Version);
    // What a newer writer adds does not matter before its version is refused.
    assert_eq!(kind(&[0x08, 0x09, 0x12, 0x01, 0xff]), ErrorKind::Version);
    assert_eq!(kind(b""), ErrorKind::Parse);
    assert_eq!(kind(b"fluvial 1\n"), ErrorKind::Parse);
    check(
        |message| message.format = 2,
        expect![[r#"
        the program is in format 2, but this Fluvial reads formats up to 1
          remedy: update Fluvial, or save the program again with an older one"#]],
    );
    check(
        |message| message.format = 0,
        expect![[r#"
        the bytes are not a program: they have no version of the format
          remedy: a program in text form ends in `.fl`, one in binary form in `.flb`"#]],
    );
}

#[test]
fn references_are_checked() {
    check(
        |message| message.main = 0,
        expect!["the program refers to block 0, which does not exist"],
    );
    check(|message| message.main = message.startup, expect!["block 1 stands in two places"]);
    check(
        |message| message.startup = 99,
        expect!["the program refers to block 99, which does not exist"],
    );
    check(
        |message| message.inputs[0] = 0,
        expect!["the program refers to string 0, which does not exist"],
    );
    check(
        |message| message.outputs[0] = u32::MAX,
        expect!["the program refers to string 4294967295, which does not exist"],
    );
    check(
        |message| message.states[0].r#type = 77,
        expect!["the program refers to type 77, which does not exist"],
    );
    check(
        |message| message.states[0].role = 77,
        expect!["the program refers to role 77, which does not exist"],
    );
    check(
        |message| message.states[0].name = message.states[1].name,
        expect!["state `steps` is declared twice"],
    );
    check(
        |message| message.types[0].dtype = 0,
        expect!["the program refers to dtype 0, which does not exist"],
    );
    check(
        |message| message.types[0].lists = u32::MAX,
        expect!["lists can be nested 250 deep at most"],
    );
    check(
        |message| message.types[0].sizes[0].kind = None,
        expect!["a size is neither a number nor symbolic"],
    );
    check(
        |message| message.types[0].sizes[0].kind = Some(messages::size::Kind::Known(u64::MAX)),
        expect!["18446744073709551615 is larger than any size"],
    );
    check(
        |message| message.types[0].sizes = vec![Default::default(); 99],
        expect!["a size is neither a number nor symbolic"],
    );
    check(
        |message| message.locations[0].parent = 1,
        expect!["the program refers to location 1, which does not exist"],
    );
    check(
        |message| message.locations[0].file = 0,
        expect!["the program refers to string 0, which does not exist"],
    );
}

#[test]
fn blocks_are_checked() {
    let call = |message: &mut messages::Program, change: fn(&mut messages::Call)| {
        change(&mut message.blocks.last_mut().unwrap().calls[2]);
    };
    check(
        |message| call(message, |call| call.op = 0),
        expect![[r#"
        the program refers to string 0, which does not exist
          note: in call 2
          note: in block 2"#]],
    );
    check(
        |message| call(message, |call| call.inputs[0] = 3),
        expect![[r#"
        value %3 is used before it is defined
          note: in call 2
          note: in block 2"#]],
    );
    check(
        |message| call(message, |call| call.inputs.clear()),
        expect!["main, call 2: src/model.rs:11:9: mul(): `mul` takes 2 inputs, got 0"],
    );
    check(
        |message| call(message, |call| call.outputs[0] = 0),
        expect![[r#"
        the program refers to type 0, which does not exist
          note: in call 2
          note: in block 2"#]],
    );
    check(
        |message| call(message, |call| call.outputs.push(1)),
        expect![[r#"
        main, call 2: src/model.rs:11:9: mul(f32[batch, 2], f32[2]): the op gives 1 output, the call has 2
          note: main, call 6: src/model.rs:16:9: add(i64[], f32[]): the op gives f32[], but i64[] is declared"#]],
    );
    check(
        |message| call(message, |call| call.location = 99),
        expect![[r#"
        the program refers to location 99, which does not exist
          note: in call 2
          note: in block 2"#]],
    );
    check(
        |message| call(message, |call| call.attributes.push(Default::default())),
        expect![[r#"
        the program refers to string 0, which does not exist
          note: in call 2
          note: in block 2"#]],
    );
    check(
        |message| message.blocks[1].results[0] = 99,
        expect![[r#"
        value %99 is used before it is defined
          note: in block 1"#]],
    );
    check(
        |message| message.blocks[0].names.push(Default::default()),
        expect![[r#"
        the program refers to string 0, which does not exist
          note: in block 0"#]],
    );
    check(
        |message| {
            let main = message.blocks.last_mut().unwrap();
            let names = main.names.clone();
            main.names.extend(names);
        },
        expect![[r#"
            value %0 has two names
              note: in block 2"#]],
    );
}

/// The first call of the startup block with an attribute of another value.
fn check_value(kind: Option<Kind>, expected: Expect) {
    let change = |message: &mut messages::Program| {
        let startup = message.startup as usize - 1;
        let attribute = &mut message.blocks[startup].calls[0].attributes[0];
        attribute.value = Some(messages::Value { kind });
    };
    check(change, expected);
}

#[test]
fn attributes_are_checked() {
    check_value(
        None,
        expect![[r#"
        an attribute has no value
          note: in call 0
          note: in block 0"#]],
    );
    check_value(
        Some(Kind::Text(99)),
        expect![[r#"
        the program refers to string 99, which does not exist
          note: in call 0
          note: in block 0"#]],
    );
    check_value(
        Some(Kind::Size(1)),
        expect![[r#"
        size "fc.scale": expected an operator or the end at character 3
          note: in call 0
          note: in block 0"#]],
    );
    check_value(
        Some(Kind::Dtype(99)),
        expect![[r#"
        the program refers to dtype 99, which does not exist
          note: in call 0
          note: in block 0"#]],
    );
    check_value(
        Some(Kind::Type(0)),
        expect![[r#"
        the program refers to type 0, which does not exist
          note: in call 0
          note: in block 0"#]],
    );
    check_value(
        Some(Kind::Block(4)),
        expect![[r#"
        the program refers to block 4, which does not exist
          note: in call 0
          note: in block 0"#]],
    );
    let tensor = |data: &[u8], everywhere: bool| {
        let data = data.to_vec();
        Some(Kind::Tensor(messages::Tensor { r#type: 1, data, everywhere }))
    };
    check_value(
        tensor(&[0; 7], false),
        expect![[r#"
            1 element cannot be a constant of type f32[2]
              note: in call 0
              note: in block 0"#]],
    );
    check_value(
        tensor(&[0; 8], true),
        expect![[r#"
            2 elements cannot be a constant of type f32[2]
              note: in call 0
              note: in block 0"#]],
    );
    let nested = (0..40).fold(Kind::Boolean(true), |inner, _| {
        let items = vec![messages::Value { kind: Some(inner) }];
        Kind::List(messages::List { items })
    });
    check_value(
        Some(nested),
        expect![[r#"
        blocks and lists are nested more than 32 deep
          note: in call 0
          note: in block 0"#]],
    );
}

#[test]
fn hostile_messages_stay_small() {
    // A chain of blocks, each nested in the next.
    let mut message = bare();
    let main = message.blocks.pop().unwrap();
    let body = message.blocks.len();
    let mut repeat = main.calls[3].clone();
    repeat.inputs = vec![0, 1];
    for _ in 0..100_000 {
        let mut block = message.blocks[body - 1].clone();
        let inner = message.blocks.len();
        repeat.attributes[1].value =
            Some(messages::Value { kind: Some(Kind::Block(inner as u32)) });
        block.calls = vec![repeat.clone()];
        block.results = vec![0];
        message.blocks.push(block);
    }
    message.main = message.blocks.len() as u32;
    let error = Program::from_bytes(&message.encode_to_vec(), &registry()).unwrap_err();
    assert!(error.to_string().contains("more than 32 deep"), "{error}");

    // One long string as the name of very many attributes.
    let mut message = bare();
    message.strings.push("x".repeat(1 << 20));
    let name = message.strings.len() as u32;
    let value = Some(messages::Value { kind: Some(Kind::Boolean(true)) });
    let attribute = messages::Attribute { name, value };
    message.blocks[0].calls[0].attributes = vec![attribute; 100_000];
    let error = Program::from_bytes(&message.encode_to_vec(), &registry()).unwrap_err();
    assert!(error.to_string().contains("name of an attribute is too long"), "{error}");

    // A constant that stands everywhere takes no memory.
    let text = "fluvial 1 main() { %0 = constant{value=f32[9999999999999](all 1)}() \
                : f32[9999999999999] }";
    let program = Program::parse(text, &Registry::structural()).unwrap();
    assert!(program.to_bytes().len() < 100);
    Program::from_bytes(&program.to_bytes(), &Registry::structural()).unwrap();
}

#[test]
fn files_take_the_form_of_their_name() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("proto_files");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["model.fl", "model.flb"] {
        let path = folder.join(name);
        model().save(&path).unwrap();
        assert_eq!(Program::load(&path, &registry()).unwrap(), model());
    }
    let text = std::fs::read_to_string(folder.join("model.fl")).unwrap();
    assert_eq!(text, format!("{}\n", model()));
    assert_eq!(std::fs::read(folder.join("model.flb")).unwrap(), model().to_bytes());

    let refused = |name: &str, contents: Option<&[u8]>, expected: Expect| {
        let path = folder.join(name);
        if let Some(contents) = contents {
            std::fs::write(&path, contents).unwrap();
        }
        let error = Program::load(&path, &registry()).unwrap_err().to_string();
        expected.assert_eq(&error.replace(&folder.display().to_string(), ""));
    };
    refused(
        "model.txt",
        None,
        expect![[r#"
        /model.txt does not name a program
          remedy: name it `.fl` for the text form or `.flb` for the binary form"#]],
    );
    refused(
        "missing.fl",
        None,
        expect!["/missing.fl could not be read: No such file or directory (os error 2)"],
    );
    refused(
        "bad.fl",
        Some(b"fluvial 1\nmain() { what }\n"),
        expect![[r#"
        /bad.fl:2:10: no op is named `what`
          2 | main() { what }
            |          ^
          remedy: add the crate that defines it to the registry given to the reader"#]],
    );
    refused(
        "not_text.fl",
        Some(b"fluvial 1 \xff"),
        expect![[r#"
        /not_text.fl is not text: invalid utf-8 sequence of 1 bytes from index 10
          remedy: a program in binary form ends in `.flb`"#]],
    );
    refused(
        "bad.flb",
        Some(b"\x08\x01"),
        expect![[r#"
        the program refers to block 0, which does not exist
          note: in the file /bad.flb"#]],
    );
    let error = model().save(folder.join("model")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
}

/// These files were written by format 1 once and are never written again: whatever comes, they
/// load. The ops of theirs that are toys keep their names and attributes.
#[test]
fn golden_files_load_for_ever() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let text = Program::load(folder.join("v1.fl"), &registry()).unwrap();
    let binary = Program::load(folder.join("v1.flb"), &registry()).unwrap();
    assert!(text == binary);
    assert_eq!(text.outputs.join("|"), "|grad(fc.w)|x|z");
    assert_eq!((text.states.len(), text.main.types.len(), text.main.calls.len()), (2, 31, 25));
}
