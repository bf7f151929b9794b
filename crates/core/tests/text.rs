//! The text form: round trips, the look of listings, what is read and what is refused.

mod programs;

use expect_test::{Expect, expect};
use fluvial_core::{Attr, Dim, ErrorKind, Loc, Phase, Program, Tensor, Type, at, bind1};
use programs::ops::{Any, Everything, registry};
use programs::{hard, model, random, trained, ty};

#[track_caller]
fn round_trip(program: &Program) {
    let text = program.to_string();
    let read = Program::parse(&text, &registry()).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert!(read == *program, "{text}\n--- became ---\n{read}");
    assert_eq!(read.to_string(), text);
}

#[test]
fn programs_come_back() {
    round_trip(&Program::default());
    round_trip(&model());
    round_trip(&hard());
    round_trip(&trained());
}

#[test]
fn random_programs_come_back() {
    for seed in 0..300 {
        round_trip(&random::program(&mut random::Rng::new(seed)));
    }
}

#[test]
fn a_listing() {
    expect![[r#"
        fluvial 1

        state @fc.scale : f32[2] parameter
        state @steps : i64[] counter

        startup {
          %0 = fill{value=0.5, ty=f32[2]}() : f32[2]  at src/model.rs:10:5
          assign{state="fc.scale"}(%0)  at src/model.rs:10:5
          %1 = constant{value=i64[](0)}() : i64[]  at src/model.rs:10:5
          assign{state="steps"}(%1)  at src/model.rs:10:5
        }

        main(%x: f32[batch, 2]) {
          %1 = read{state="fc.scale", ty=f32[2]}() : f32[2]  at src/model.rs:10:5
          %2 = read{state="steps", ty=i64[]}() : i64[]  at src/model.rs:10:5
          %scaled = mul(%x, %1) : f32[batch, 2]  at src/model.rs:11:9
          %4 = toy.repeat{trips=3, body=(%0: f32[batch, 2], %1: f32[batch, 2]) {
            %2 = toy.square(%0) : f32[batch, 2]  at src/model.rs:13:13
            %3 = add(%2, %1) : f32[batch, 2]  at src/model.rs:13:13
            return %3
          }}(%scaled, %x) : f32[batch, 2]  at src/model.rs:12:9
          %5 = sum_to(%4) : f32[]  at src/model.rs:16:9
          %6 = constant{value=i64[](1)}() : i64[]  at src/model.rs:16:9
          %7 = add(%2, %6) : i64[]  at src/model.rs:16:9
          assign{state="steps"}(%7)  at src/model.rs:16:9
          return %5 as loss, %scaled
        }"#]]
    .assert_eq(&model().to_string());
}

#[test]
fn a_listing_for_people() {
    expect![[r#"
        main(%x: f32[batch, 2]) {
          %1 = read{state="fc.scale", ty=f32[2]}() : f32[2]
          %2 = read{state="steps", ty=i64[]}() : i64[]
          %scaled = mul(%x, %1) : f32[batch, 2]
          %4 = toy.repeat{trips=3, body=(%0: f32[batch, 2], %1: f32[batch, 2]) {
            %2 = toy.square(%0) : f32[batch, 2]
            %3 = add(%2, %1) : f32[batch, 2]
            return %3
          }}(%scaled, %x) : f32[batch, 2]
          %5 = sum_to(%4) : f32[]
          %6 = constant{value=i64[](1)}() : i64[]
          %7 = add(%2, %6) : i64[]
          assign{state="steps"}(%7)
          return %5 as loss, %scaled
        }"#]]
    .assert_eq(format!("{:#}", model()).split_once("}\n\n").unwrap().1);
    expect![[r#"
        (%x: f32[batch, 2]) {
          %1 = read{state="fc.scale", ty=f32[2]}() : f32[2]"#]]
    .assert_eq(&format!("{:#}", model().main).lines().take(2).collect::<Vec<_>>().join("\n"));
}

/// Prints the attribute of an op, and reads it back.
fn check_attr(attr: Attr, expected: Expect) {
    let program = Program::build(&[("x", ty("f32[n]"))], |x| {
        let op = Everything { any: Any(attr), ..Everything::plain() };
        Ok(vec![bind1(op, &[&x[0]])?])
    });
    let program = program.unwrap();
    round_trip(&program);
    let text = format!("{program:#}");
    let (_, rest) = text.split_once("any=").unwrap();
    expected.assert_eq(rest.split_once("}(").unwrap().0);
}

#[test]
fn attributes() {
    let tensor = |t: Tensor| Attr::Tensor(t);
    let row = |n: usize| Tensor::from_vec((0..n as i64).collect(), &[n]).unwrap();
    let list = |items: &[Attr]| Attr::List(items.to_vec());
    check_attr(Attr::None, expect!["none"]);
    check_attr(Attr::Float(2.0), expect!["2.0"]);
    check_attr(Attr::Float(1e-7), expect!["1e-7"]);
    check_attr(Attr::Float(f64::NEG_INFINITY), expect!["-inf"]);
    check_attr(Attr::Float(-f64::NAN), expect!["nan(0xfff8000000000000)"]);
    check_attr(Attr::Dim(Dim::parse("2*n + 1").unwrap()), expect!["<2*n + 1>"]);
    check_attr(Attr::Type(ty("list f32[n, 2]")), expect!["list f32[n, 2]"]);
    check_attr(Attr::Str("a \"b\"\n".into()), expect![[r#""a \"b\"\n""#]]);
    check_attr(list(&[Attr::Int(1), list(&[]), Attr::None]), expect!["[1, [], none]"]);
    check_attr(tensor(row(4).reshape(&[2, 2]).unwrap()), expect!["i64[2, 2](0, 1, 2, 3)"]);
    check_attr(tensor(row(0)), expect!["i64[0]()"]);
    check_attr(
        tensor(Tensor::full(&[2, 2], 0.1f32).unwrap()),
        expect!["f32[2, 2](0.1, 0.1, 0.1, 0.1)"],
    );
    check_attr(tensor(Tensor::full(&[9, 9], 0.1f32).unwrap()), expect!["f32[9, 9](all 0.1)"]);
    check_attr(
        tensor(row(33).cast(fluvial_core::DType::U8).unwrap()),
        expect![[r#"u8[33](base64 "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g")"#]],
    );
}

#[test]
fn places() {
    let check = |loc: Loc, expected: Expect| {
        let program = Program::build(&[("x", ty("f32[]"))], |x| {
            let _line = at(loc);
            Ok(vec![-&x[0]])
        });
        let program = program.unwrap();
        round_trip(&program);
        let text = program.to_string();
        expected.assert_eq(text.lines().find_map(|line| line.split_once("  at ")).unwrap().1);
    };
    let caller = Loc::intern("train.py", 40, 0, Some("<module>"), None);
    check(Loc::intern("a/b-c.rs", 3, 5, None, None), expect!["a/b-c.rs:3:5"]);
    check(Loc::intern("my model.py", 3, 0, None, None), expect![[r#""my model.py":3"#]]);
    check(
        Loc::intern("model.py", 3, 0, Some("forward"), Some(caller)),
        expect![[r#"model.py:3 in forward < train.py:40 in "<module>""#]],
    );
    check(Loc::intern("//", 0, 0, None, None), expect![[r#""//":0"#]]);
    let plain = Loc::intern("model.py", 3, 0, Some("forward"), Some(caller));
    check(
        plain.with_phase(Phase::Backward).with_layer("mlp.layers.0"),
        expect![[
            r#"model.py:3 in forward [backward, layer mlp.layers.0] < train.py:40 in "<module>""#
        ]],
    );
    check(
        Loc::intern("a.rs", 1, 2, None, None).with_phase(Phase::Optimizer),
        expect!["a.rs:1:2 [optimizer]"],
    );
    check(
        Loc::intern("a.rs", 1, 0, None, None).with_layer("0.fc"),
        expect![[r#"a.rs:1 [layer "0.fc"]"#]],
    );
}

#[test]
fn marks_that_do_not_exist_are_refused() {
    let read = |marks: &str| {
        let text =
            format!("fluvial 1 main(%x: f32[]) {{ %1 = neg(%x) : f32[] at a.rs:1 {marks} }}");
        Program::parse(&text, &registry())
    };
    assert!(read("[forward, layer a.b]").unwrap().main.calls[0].loc.layer().is_some());
    assert!(read("[layer a.b, backward]").unwrap().main.calls[0].loc.phase() == Phase::Backward);
    for marks in ["[]", "[sideways]", "[layer]", "[backward", "[backward,]"] {
        assert_eq!(read(marks).unwrap_err().kind(), ErrorKind::Parse, "{marks}");
    }
}

#[test]
fn the_layout_and_the_numbers_of_a_text_do_not_matter() {
    let text = "# a comment\r\nfluvial 1 // another
        state @w:f32[2]parameter
        main(%7: f32[ 2 ], %y:f32[2]) { %100=read{state=\"w\",ty=f32[2]}():f32[2]
        %z=add(%100,%7):f32[2]at a.rs:1 # at the end
        %3 = toy.everything{text=\"# // \\u{41}\\'\", size=<n//2 - n//2 + 3>, flag=true, int=1,
            float=2, floats=[1, 2.5], sizes=[], dtype=f32, ty=f32[], tensor=f32[2](1, 2e0),
            tensors=[], present=none, absent=none, any=none}(%z) : f32[2]
        return %z, %3 as out }";
    let text = text.replace("%7: f32[ 2 ]", "%7 as \"the x\": f32[ 2 ]");
    let program = Program::parse(&text, &registry()).unwrap();
    round_trip(&program);
    expect![[r##"
        fluvial 1

        state @w : f32[2] parameter

        main(%0 as "the x": f32[2], %y: f32[2]) {
          %2 = read{state="w", ty=f32[2]}() : f32[2]
          %z = add(%2, %0) : f32[2]  at a.rs:1
          %4 = toy.everything{flag=true, int=1, float=2.0, floats=[1.0, 2.5], text="# // A'", size=3, dtype=f32, ty=f32[], tensor=f32[2](1.0, 2.0), any=none}(%z) : f32[2]
          return %z, %4 as out
        }"##]]
    .assert_eq(&program.to_string());
}

#[test]
fn constants_take_no_more_memory_than_their_text() {
    let read = |constant: &str| {
        let text = format!("fluvial 1 main() {{ %0 = constant{{value={constant}}}() : u8[] }}");
        Program::parse(&text, &registry())
            .unwrap_err()
            .message()
            .lines()
            .next()
            .unwrap()
            .to_string()
    };
    let huge = "1000000000000000";
    assert!(
        read(&format!("f32[{huge}](1, 2)"))
            .contains("2 elements cannot be a constant of type f32[10")
    );
    assert!(read(&format!("f32[{huge}](base64 \"\")")).contains("0 elements cannot be"));
    assert!(read(&format!("f32[{huge}, {huge}](1)")).contains("1 element cannot be"));
    assert!(read(&format!("f32[{huge}](all 1)")).contains("the op gives f32[1000000000000000]"));
    assert!(read(&format!("f32[{huge}, {huge}](all 1)")).contains("too many elements"));
}

#[test]
fn nesting_is_bounded() {
    // As many nested blocks as there may be, and one more, in the stack of a test's thread.
    let nested = |n: usize| {
        let open = "%0 = toy.repeat{trips=1, body=(%x: f32[]) {\n";
        let close = "return %x }}(%x) : f32[]\n";
        let (open, close) = (open.repeat(n), close.repeat(n));
        format!("fluvial 1 main(%x: f32[]) {{ {open} {close} }}")
    };
    let program = Program::parse(&nested(32), &registry()).unwrap();
    round_trip(&program);
    let message = |text: &str| Program::parse(text, &registry()).unwrap_err().to_string();
    for n in [33, 100_000] {
        assert!(message(&nested(n)).contains("nested more than 32 deep"), "{n}");
    }
    for (open, close) in [("[", "]"), ("(", ")"), ("list ", ""), ("f32[(", ")]"), ("<(", ")>")] {
        let (open, close) = (open.repeat(100_000), close.repeat(100_000));
        message(&format!("fluvial 1 main() {{ a{{b={open}{close}}}() }}"));
        message(&format!("fluvial 1 state @s : {open}{close} buffer"));
    }
}

/// The message for a text that is refused, without the excerpt.
fn check_refused(text: &str, expected: Expect) {
    let error = Program::parse(text, &registry()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Parse | ErrorKind::Version));
    expected.assert_eq(error.message().lines().next().unwrap());
}

/// The same for a text inside a main block.
fn check_line(line: &str, expected: Expect) {
    check_refused(&format!("fluvial 1\nmain(%x: f32[n]) {{\n  {line}\n}}"), expected);
}

#[test]
fn versions_are_checked() {
    let kind = |text: &str| Program::parse(text, &registry()).unwrap_err().kind();
    assert_eq!(kind("fluvial 2"), ErrorKind::Version);
    assert_eq!(kind("main() {}"), ErrorKind::Parse);
    check_refused(
        "fluvial 17\nwhat comes now is not read",
        expect!["1:9: the program is in format 17, but this Fluvial reads formats up to 1"],
    );
    check_refused("fluvial 0", expect!["1:9: there is no format 0 of programs"]);
    check_refused(
        "main() {}",
        expect!["1:1: expected `fluvial 1`, with which a program starts, found `main`"],
    );
    check_refused(
        "",
        expect![
            "1:1: expected `fluvial 1`, with which a program starts, found the end of the text"
        ],
    );
    check_refused(
        "fluvial",
        expect!["1:8: expected the version of the format, found the end of the text"],
    );
}

#[test]
fn heads_are_checked() {
    check_refused(
        "fluvial 1\nstate @w : f33[2] parameter",
        expect![
            "2:12: expected a type, which starts with one of bool, u8, u16, u32, u64, i8, i16, i32, i64, f8e4m3, f8e5m2, f16, bf16, f32, f64, c64, c128, found `f33`"
        ],
    );
    check_refused(
        "fluvial 1\nstate @w : f32[2] weight",
        expect![
            "2:19: expected a role (parameter, buffer, optimizer, random, counter), found `weight`"
        ],
    );
    check_refused(
        "fluvial 1\nstate @ w : f32[2] buffer",
        expect!["2:9: expected a name right after the sign, found `w`"],
    );
    check_refused(
        "fluvial 1\nstate @w : f32[2] buffer\nstate @w : f32[2] buffer",
        expect!["3:8: a state of this name is declared above"],
    );
    check_refused(
        "fluvial 1\nstate @\"a\\q\" : f32[2] buffer",
        expect![[r#"2:8: the string has an escape that is none of \n \r \t \0 \\ \" \' \u{…}"#]],
    );
    check_refused(
        "fluvial 1\nstart {}",
        expect!["2:1: expected `state`, `startup` or `main`, found `start`"],
    );
    check_refused("fluvial 1\nstartup { a() }", expect!["2:11: no op is named `a`"]);
    check_refused(
        "fluvial 1\nmain(%0: f32[]) {}",
        expect!["2:8: expected `as` and a name, since the value has none, found `:`"],
    );
    check_refused(
        "fluvial 1\nmain(%x: f32[], %x: f32[]) {}",
        expect!["2:17: %x is defined above already"],
    );
    check_refused(
        "fluvial 1\nmain(%x: f32[]) {} main",
        expect!["2:20: expected the end of the text, found `main`"],
    );
    check_refused("fluvial 1\nmain(%x f32[]) {}", expect!["2:9: expected `:`, found `f32`"]);
    check_refused(
        "fluvial 1\nmain(%x: f32[2) {}\n",
        expect!["2:14: expected `]` before the end of the line"],
    );
    check_refused(
        "fluvial 1\nmain(%x: f32[2,]) {}\n",
        expect![[r#"2:16: size "": expected a number, a name or a bracket at character 1"#]],
    );
    check_refused(
        "fluvial 1\nmain(%x: f32[1, 2 ** 3]) {}\n",
        expect![[r#"2:17: size "2 ** 3": expected a number, a name or a bracket at character 4"#]],
    );
    check_refused(
        "fluvial 1\nmain(%x: f32[1,1,1,1,1,1,1,1,1]) {}\n",
        expect!["2:10: a tensor has at most 8 axes, not 9"],
    );
}

#[test]
fn lines_are_checked() {
    check_line("%1 = nog(%x) : f32[n]", expect!["3:8: no op is named `nog`"]);
    check_line("%1 = neg(%y) : f32[n]", expect!["3:12: %y is not defined above, in this block"]);
    check_line("%1 = neg(%x : f32[n]", expect!["3:15: expected `,` or `)`, found `:`"]);
    check_line("%1 = neg(%x)", expect!["3:3: expected a type for each output (1), found 0"]);
    check_line(
        "%1, %2 = neg(%x) : f32[n]",
        expect!["3:3: expected a type for each output (2), found 1"],
    );
    check_line("%x = neg(%x) : f32[n]", expect!["3:3: %x is defined above already"]);
    check_line("%1 neg(%x) : f32[n]", expect!["3:6: expected `,` or `=`, found `neg`"]);
    check_line("%1 = return %x", expect!["3:8: expected an op, found `return`"]);
    check_line("%1x = neg(%x) : f32[n]", expect!["3:4: expected a number or a name, found `1x`"]);
    check_line("return x", expect!["3:10: expected `%`, found `x`"]);
    check_line("return %x as", expect!["4:1: expected a name, found `}`"]);
    check_line("neg(%x) at", expect!["4:1: expected a file name, found `}`"]);
    check_line("neg(%x) at a.rs", expect!["4:1: expected `:`, found `}`"]);
    check_line(
        "neg(%x) at a.rs:1:-1",
        expect!["3:21: expected a line or column number, found `-1`"],
    );
    check_line("neg(%x) é", expect!["3:11: expected an op, `return` or `}`, found `é`"]);
}

#[test]
fn attributes_are_checked() {
    let attr = |attr: &str, expected: Expect| {
        check_line(&format!("%1 = fill{{value={attr}}}() : f32[]"), expected)
    };
    attr("yes", expect!["3:19: expected an attribute, found `yes`"]);
    attr(
        "99999999999999999999",
        expect!["3:19: expected a number of 64 bits, found `99999999999999999999`"],
    );
    attr("1e999", expect!["3:19: expected a number of 64 bits, found `1e999`"]);
    attr("1.2.3", expect!["3:19: expected a number of 64 bits, found `1.2.3`"]);
    attr("-", expect!["3:19: expected a number of 64 bits, found `-`"]);
    attr("\"open", expect!["3:19: expected a closing quote on this line"]);
    attr(
        "\"\\u{110000}\"",
        expect![[r#"3:19: the string has an escape that is none of \n \r \t \0 \\ \" \' \u{…}"#]],
    );
    attr(
        "<n + >",
        expect![[r#"3:20: size "n + ": expected a number, a name or a bracket at character 5"#]],
    );
    attr("<n", expect!["3:20: expected `>` before the end of the line"]);
    attr("[1 2]", expect!["3:22: expected `,` or `]`, found `2`"]);
    attr("[1, ]", expect!["3:23: expected an attribute, found `]`"]);
    attr("nan(12)", expect!["3:19: these are not the bits of a NaN of f64"]);
    attr("f32[2](1, x)", expect!["3:29: expected an element of f32, found `x`"]);
    attr("u8[1](256)", expect!["3:25: expected an element of u8, found `256`"]);
    attr("f32[n](1)", expect!["3:19: a constant cannot have the type f32[n]"]);
    attr("list f32[1](1)", expect!["3:19: a constant cannot have the type list f32[1]"]);
    attr("f32[2](base64 \"AA\")", expect![[r#"3:33: expected a string of base64, found `"AA"`"#]]);
    attr("(%0: f32[]) { return %1 }", expect!["3:40: %1 is not defined above, in this block"]);
    attr("1, ty=f32[], ty=f32[]", expect!["3:8: attribute `ty` of op `fill` is given twice"]);
    attr("1, type=f32[]", expect!["3:8: op `fill` has no attribute `type`"]);
    attr(
        "true, ty=f32[]",
        expect!["3:8: attribute `value` of op `fill` should be a float, found a bool"],
    );
}

#[test]
fn errors_point_into_the_text() {
    let check = |text: &str, expected: Expect| {
        let error = Program::parse(text, &registry()).unwrap_err();
        expected.assert_eq(&error.to_string());
    };
    check(
        "fluvial 17\nwhat comes now is not read",
        expect![[r#"
        1:9: the program is in format 17, but this Fluvial reads formats up to 1
          1 | fluvial 17
            |         ^
          remedy: update Fluvial, or save the program again with an older one"#]],
    );
    check(
        "fluvial 1\nmain(%x: f32[]) {\n\tneg(%x) é,\n}",
        expect![[r#"
        3:10: expected an op, `return` or `}`, found `é`
          3 |  neg(%x) é,
            |          ^"#]],
    );
    check(
        "fluvial 1\nmain(%x: f32[]) { %1 = fill{val=1}() : f32[] }",
        expect![[r#"
        2:24: op `fill` has no attribute `val`
          2 | main(%x: f32[]) { %1 = fill{val=1}() : f32[] }
            |                        ^
          remedy: its attributes are: value, ty"#]],
    );
    check(
        "fluvial 1
main(%x: f32[n], %y: list f32[m]) {
  %1 = toy.push(%y, %x) : list f32[m]
  %2 = toy.repeat{trips=1, body=(%0: f32[n]) {
    %1 = read{state=\"w\", ty=f32[]}() : f32[]
    return %0
  }}(%x) : f32[n]
  return %2 as out, %1 as out
}",
        expect![[r#"
            3:3: toy.push(list f32[m], f32[n]): this is not an element of the list
              3 |   %1 = toy.push(%y, %x) : list f32[m]
                |   ^
              note: 5:5: read(): state is used inside a nested block
              note: 8:3: two outputs are named `out`"#]],
    );
}

#[test]
fn long_lines_are_cut_in_messages() {
    let text = format!("fluvial 1 main() {{ a{{b=\"{}\", c=?}}() }}", "é".repeat(100_000));
    let message = Program::parse(&text, &registry()).unwrap_err().to_string();
    assert!(message.len() < 400, "{message}");
}

#[test]
fn an_error_has_all_faults_as_its_source() {
    let text = "fluvial 1 main(%x: f32[n]) { %1 = neg(%x) : f32[m] return %1 as y }";
    let error = Program::parse(text, &registry()).unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    let faults: &fluvial_core::Faults = source.downcast_ref().unwrap();
    assert_eq!(faults.len(), 1);
    let unchecked: Type = ty("f32[m]");
    assert!(faults.to_string().contains(&unchecked.to_string()));
}
