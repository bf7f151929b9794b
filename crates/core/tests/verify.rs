//! The verifier: each invariant broken in turn, and the listing that shows it.

mod programs;

use std::sync::Arc;

use expect_test::{Expect, expect};
use fluvial_core::verify::{Line, Place, Section, faults};
use fluvial_core::{Attr, ErrorKind, Faults, OpRef, Program, Type, verify};
use programs::ops::{Any, Everything, registry};
use programs::{hard, model, random, trained, ty};

/// The faults of a program, each below the line it concerns.
fn check(program: &Program, expected: Expect) {
    expected.assert_eq(&faulty_lines(&faults(program)));
}

/// The same for a program given as text.
fn check_text(text: &str, expected: Expect) {
    let Err(error) = Program::parse(&format!("fluvial 1\n{text}"), &registry()) else {
        return expected.assert_eq("no fault");
    };
    assert_eq!(error.kind(), ErrorKind::Program, "{error}");
    let faults = std::error::Error::source(&error).unwrap();
    expected.assert_eq(&faulty_lines(faults.downcast_ref().unwrap()));
}

fn faulty_lines(faults: &Faults) -> String {
    let listing = faults.to_string();
    let lines: Vec<&str> = listing.lines().map(str::trim).collect();
    let is_comment = |i: usize| lines.get(i).is_some_and(|line| line.starts_with('#'));
    let faulty = (0..lines.len()).filter(|&i| is_comment(i) || is_comment(i + 1));
    faulty.map(|i| lines[i]).collect::<Vec<_>>().join("\n")
}

/// A program of two calls.
fn small() -> Program {
    let text = "fluvial 1 main(%x: f32[n]) { %1 = neg(%x) : f32[n] %2 = add(%1, %x) : f32[n] \
                return %2 as y }";
    Program::parse(text, &registry()).unwrap()
}

/// The small program, changed.
fn changed(change: impl FnOnce(&mut Program)) -> Program {
    let mut program = small();
    change(&mut program);
    program
}

#[test]
fn programs_that_were_built_are_in_order() {
    for program in [Program::default(), small(), model(), hard(), trained()] {
        assert!(faults(&program).is_empty(), "{}", faults(&program));
        verify(&program).unwrap();
    }
    for seed in 300..500 {
        let program = random::program(&mut random::Rng::new(seed));
        assert!(faults(&program).is_empty(), "{}", faults(&program));
    }
}

#[test]
fn nesting() {
    let nested = |n: usize| (0..n).fold(Attr::None, |inner, _| Attr::List(vec![inner]));
    let with = |attr: Attr| {
        changed(|program| {
            let op = Everything { any: Any(attr), ..Everything::plain() };
            program.main.calls[0].op = OpRef::new(op);
        })
    };
    assert!(faults(&with(nested(32))).is_empty());
    let found = faults(&with(nested(33)));
    let found: Vec<String> = found.iter().map(|fault| fault.error.to_string()).collect();
    assert_eq!(found, ["blocks and lists are nested more than 32 deep"]);
}

#[test]
fn numbering() {
    check(
        &changed(|program| program.main.calls[1].first_output = 1),
        expect![[r#"
            %1 = add(%1, %x) : f32[n]
            # ^ the outputs start at %1, expected %2"#]],
    );
    check(
        &changed(|program| program.main.types.push(ty("f32[]"))),
        expect![[r#"
            return %2 as y
            # ^ 3 values are defined, but 4 have a type"#]],
    );
    check(
        &changed(|program| program.main.types.truncate(2)),
        expect![[r#"
            return %2 as y
            # ^ 3 values are defined, but 2 have a type"#]],
    );
    check(
        &changed(|program| program.main.n_params = 9),
        expect![[r#"
            main(%x: f32[n], %1: f32[n], %2: f32[n]) {
            # ^ 9 parameters, but 3 values have a type
            # ^ 1 name of inputs for 9 parameters of the main block"#]],
    );
    check(
        &changed(|program| program.main.calls[1].n_outputs = usize::MAX),
        expect![[r#"
            return %2 as y
            # ^ 18446744073709551615 values are defined, but 3 have a type"#]],
    );
}

#[test]
fn order() {
    check(
        &changed(|program| program.main.calls[0].inputs[0] = 2),
        expect![[r#"
            %1 = neg(%2) : f32[n]
            # ^ %2 is not defined before it is used"#]],
    );
    check(
        &changed(|program| program.main.calls[1].inputs[0] = u32::MAX),
        expect![[r#"
            %2 = add(%4294967295, %x) : f32[n]
            # ^ %4294967295 is not defined before it is used"#]],
    );
    check(
        &changed(|program| program.main.results[0] = 3),
        expect![[r#"
            return %3 as y
            # ^ %3 is not defined"#]],
    );
}

#[test]
fn arity() {
    check(
        &changed(|program| program.main.calls[0].inputs.push(0)),
        expect![[r#"
            %1 = neg(%x, %x) : f32[n]
            # ^ neg(f32[n], f32[n]): `neg` takes one input, got 2"#]],
    );
    check_text(
        "main(%x: f32[]) { %1, %2 = neg(%x) : f32[], f32[] }",
        expect![[r#"
            %1, %2 = neg(%x) : f32[], f32[]
            # ^ neg(f32[]): the op gives 1 output, the call has 2"#]],
    );
    check_text(
        "main(%x: f32[]) { neg(%x) }",
        expect![[r#"
            neg(%x)
            # ^ neg(f32[]): the op gives 1 output, the call has 0"#]],
    );
}

#[test]
fn types() {
    check_text(
        "main(%x: f32[n]) { %1 = neg(%x) : f32[2*n] }",
        expect![[r#"
            %1 = neg(%x) : f32[2*n]
            # ^ neg(f32[n]): the op gives f32[n], but f32[2*n] is declared"#]],
    );
    check_text(
        "main(%x: f32[n]) { %1 = neg(%x) : f64[n] }",
        expect![[r#"
            %1 = neg(%x) : f64[n]
            # ^ neg(f32[n]): the op gives f32[n], but f64[n] is declared"#]],
    );
    check_text(
        "main(%x: f32[n]) { %1 = neg(%x) : f32[] }",
        expect![[r#"
            %1 = neg(%x) : f32[]
            # ^ neg(f32[n]): the op gives f32[n], but f32[] is declared"#]],
    );
    check_text(
        "main(%x: f32[n]) { %1 = neg(%x) : list f32[n] }",
        expect![[r#"
            %1 = neg(%x) : list f32[n]
            # ^ neg(f32[n]): the op gives f32[n], but list f32[n] is declared"#]],
    );
    check_text(
        "main(%x: f32[2], %y: list f32[3]) { %1 = toy.push(%y, %x) : list f32[3] }",
        expect![[r#"
            %2 = toy.push(%y, %x) : list f32[3]
            # ^ toy.push(list f32[3], f32[2]): this is not an element of the list"#]],
    );
}

#[test]
fn open_sizes() {
    let found = |types: &str, expected: Expect| {
        check_text(&format!("main(%x: f32[n, 2]) {{ %1, %2 = toy.found(%x) : {types} }}"), expected)
    };
    found("i64[m, 2], f32[m]", expect!["no fault"]);
    found(
        "i64[m, 2], f32[k]",
        expect![[r#"
            %1, %2 = toy.found(%x) : i64[m, 2], f32[k]
            # ^ toy.found(f32[n, 2]): the op gives f32[?0], but f32[k] is declared"#]],
    );
    found(
        "i64[3, 2], f32[3]",
        expect![[r#"
            %1, %2 = toy.found(%x) : i64[3, 2], f32[3]
            # ^ toy.found(f32[n, 2]): a size that only a run will know is declared as `3` in i64[3, 2]
            #   remedy: declare it as a symbol that is not in use yet"#]],
    );
    found(
        "i64[n, 2], f32[n]",
        expect![[r#"
            %1, %2 = toy.found(%x) : i64[n, 2], f32[n]
            # ^ toy.found(f32[n, 2]): a size that only a run will know is declared as `n` in i64[n, 2]
            #   remedy: declare it as a symbol that is not in use yet"#]],
    );
    found(
        "i64[2*m, 2], f32[2*m]",
        expect![[r#"
            %1, %2 = toy.found(%x) : i64[2*m, 2], f32[2*m]
            # ^ toy.found(f32[n, 2]): a size that only a run will know is declared as `2*m` in i64[2*m, 2]
            #   remedy: declare it as a symbol that is not in use yet"#]],
    );
    found(
        "i64[?0, 2], f32[?0]",
        expect![[r#"
            %1, %2 = toy.found(%x) : i64[?0, 2], f32[?0]
            # ^ toy.found(f32[n, 2]): a size that only a run will know is declared as `?0` in i64[?0, 2]
            #   remedy: declare it as a symbol that is not in use yet"#]],
    );
    let twice = |second: &str, expected: Expect| {
        let text = format!(
            "main(%x: f32[2]) {{
               %1, %2 = toy.found(%x) : i64[m, 1], f32[m]
               %3, %4 = toy.found(%x) : i64[{second}, 1], f32[{second}]
             }}"
        );
        check_text(&text, expected)
    };
    twice("k", expect!["no fault"]);
    twice(
        "m",
        expect![[r#"
            %3, %4 = toy.found(%x) : i64[m, 1], f32[m]
            # ^ toy.found(f32[2]): a size that only a run will know is declared as `m` in i64[m, 1]
            #   remedy: declare it as a symbol that is not in use yet"#]],
    );
}

#[test]
fn symbols() {
    check_text(
        "main(%x: f32[2*n]) { }",
        expect![[r#"
            main(%x: f32[2*n]) {
            # ^ nothing binds the size `n`
            #   remedy: make it a size of an input by itself
            #   note: in the type f32[2*n]"#]],
    );
    check_text("main(%x: f32[2*n, n]) { }", expect!["no fault"]);
    check_text(
        "main(%x: f32[2*n], %y: f32[n]) { }",
        expect![[r#"
            main(%x: f32[2*n], %y: f32[n]) {
            # ^ nothing binds the size `n`
            #   remedy: make it a size of an input by itself
            #   note: in the type f32[2*n]"#]],
    );
    check_text(
        "main() { %0 = fill{value=1, ty=f32[n]}() : f32[n] }",
        expect![[r#"
            %0 = fill{value=1.0, ty=f32[n]}() : f32[n]
            # ^ nothing binds the size `n`
            #   remedy: make it a size of an input by itself
            #   note: in the type f32[n]"#]],
    );
    check_text(
        "main(%x: f32[1]) { %1 = expand{dims=[<n + m>]}(%x) : f32[n + m] }",
        expect![[r#"
            %1 = expand{dims=[<m + n>]}(%x) : f32[m + n]
            # ^ nothing binds the size `m`
            #   remedy: make it a size of an input by itself"#]],
    );
    check_text("main(%x: list f32[n]) { %1 = zeros_like(%x) : list f32[n] }", expect!["no fault"]);
    check_text(
        "main(%x: list f32[n]) { %1 = fill{value=1, ty=f32[n]}() : f32[n] }",
        expect![[r#"
            %1 = fill{value=1.0, ty=f32[n]}() : f32[n]
            # ^ nothing binds the size `n`
            #   remedy: make it a size of an input by itself
            #   note: in the type f32[n]"#]],
    );
}

#[test]
fn symbols_come_out_of_lists_and_blocks() {
    check_text(
        "main() {
           %0 = toy.empty{element=f32[m]}() : list f32[m]
           %1, %2 = toy.pop(%0) : list f32[m], f32[m]
           %3 = fill{value=1, ty=f32[m]}() : f32[m]
         }",
        expect!["no fault"],
    );
    let switch = |after: &str, expected: Expect| {
        let text = format!(
            "main(%x: f32[n], %i: i64[]) {{
               %2 = toy.switch{{branches=[(%x: f32[n]) {{
                 %1, %2 = toy.found(%x) : i64[m, 1], f32[m]
                 return %2
               }}]}}(%i, %x) : f32[m]
               {after}
             }}"
        );
        check_text(&text, expected)
    };
    switch("%3 = fill{value=1, ty=f32[m]}() : f32[m]", expect!["no fault"]);
    switch(
        "%3, %4 = toy.found(%x) : i64[m, 1], f32[m]",
        expect![[r#"
            %3, %4 = toy.found(%x) : i64[m, 1], f32[m]
            # ^ toy.found(f32[n]): a size that only a run will know is declared as `m` in i64[m, 1]
            #   remedy: declare it as a symbol that is not in use yet"#]],
    );
    check_text(
        "main(%x: f32[n]) {
           %1 = toy.repeat{trips=1, body=(%x: f32[n]) {
             %1, %2 = toy.found(%x) : i64[m, 1], f32[m]
             return %x
           }}(%x) : f32[n]
           %2 = fill{value=1, ty=f32[m]}() : f32[m]
         }",
        expect![[r#"
            %2 = fill{value=1.0, ty=f32[m]}() : f32[m]
            # ^ nothing binds the size `m`
            #   remedy: make it a size of an input by itself
            #   note: in the type f32[m]"#]],
    );
}

#[test]
fn placeholders() {
    check_text(
        "state @s : f32[?1] buffer main() {}",
        expect![[r#"
            state @s : f32[?1] buffer
            # ^ the size `?1` has a placeholder
            #   remedy: only what `infer` returns may have placeholders; give the size a name"#]],
    );
    check_text(
        "main(%x: f32[?0]) {}",
        expect![[r#"
            main(%x: f32[?0]) {
            # ^ the size `?0` has a placeholder
            #   remedy: only what `infer` returns may have placeholders; give the size a name
            #   note: in the type f32[?0]"#]],
    );
    check_text(
        "main() { %0 = fill{value=1, ty=f32[2*?0]}() : f32[2] }",
        expect![[r#"
            %0 = fill{value=1.0, ty=f32[2*?0]}() : f32[2]
            # ^ the size `2*?0` has a placeholder
            #   remedy: only what `infer` returns may have placeholders; give the size a name"#]],
    );
    check_text(
        "main(%x: f32[1]) { %1 = expand{dims=[<?0 + 1>]}(%x) : f32[2] }",
        expect![[r#"
            %1 = expand{dims=[<?0 + 1>]}(%x) : f32[2]
            # ^ the size `?0 + 1` has a placeholder
            #   remedy: only what `infer` returns may have placeholders; give the size a name"#]],
    );
}

#[test]
fn states() {
    check_text(
        "main() { %0 = read{state=\"w\", ty=f32[]}() : f32[] }",
        expect![[r#"
            %0 = read{state="w", ty=f32[]}() : f32[]
            # ^ read(): no state named `w` is declared"#]],
    );
    check_text(
        "main(%x: f32[]) { assign{state=\"w\"}(%x) }",
        expect![[r#"
            assign{state="w"}(%x)
            # ^ assign(f32[]): no state named `w` is declared"#]],
    );
    check_text(
        "state @w : f32[2] parameter
         startup { %0 = fill{value=1, ty=f32[3]}() : f32[3] assign{state=\"w\"}(%0) }
         main() { %0 = read{state=\"w\", ty=f32[3]}() : f32[3] }",
        expect![[r#"
            assign{state="w"}(%0)
            # ^ assign(f32[3]): state `w` is declared f32[2], but is used as f32[3]
            %0 = read{state="w", ty=f32[3]}() : f32[3]
            # ^ read(): state `w` is declared f32[2], but is used as f32[3]"#]],
    );
    check_text(
        "state @w : f32[] parameter
         main(%x: f32[]) {
           %1 = toy.repeat{trips=1, body=(%x: f32[]) {
             %1 = read{state=\"w\", ty=f32[]}() : f32[]
             assign{state=\"w\"}(%x)
             return %1
           }}(%x) : f32[]
         }",
        expect![[r#"
            %1 = read{state="w", ty=f32[]}() : f32[]
            # ^ read(): state is used inside a nested block
            #   remedy: pass its value in, return the new one, and assign it outside
            assign{state="w"}(%x)
            # ^ assign(f32[]): state is used inside a nested block
            #   remedy: pass its value in, return the new one, and assign it outside"#]],
    );
}

#[test]
fn startup() {
    check(
        &changed(|program| program.startup = program.main.clone()),
        expect![[r#"
            startup(%x: f32[n]) {
            # ^ the startup block has 1 parameter
            #   remedy: it takes none
            return %2
            # ^ the startup block returns 1 value
            #   remedy: it returns none"#]],
    );
}

#[test]
fn signature() {
    check(
        &changed(|program| program.inputs.push("z".into())),
        expect![[r#"
            main(%x: f32[n]) {
            # ^ 2 names of inputs for 1 parameter of the main block"#]],
    );
    check(
        &changed(|program| program.outputs.clear()),
        expect![[r#"
            return %2
            # ^ 0 names of outputs for 1 result of the main block"#]],
    );
    check_text(
        "main(%x: f32[], %y as x: f32[]) { return %x, %y as x }",
        expect![[r#"
            main(%x: f32[], %y as x: f32[]) {
            # ^ two inputs are named `x`
            return %x, %y as x
            # ^ two outputs are named `x`"#]],
    );
    check_text(
        "main(%x: f32[_0]) { }",
        expect![[r#"
            main(%x: f32[_0]) {
            # ^ the size `_0` of an input is reserved
            #   remedy: name symbols without a leading underscore"#]],
    );
}

#[test]
fn names() {
    let named = |id: u32, name: &str| {
        let name: Arc<str> = name.into();
        changed(|program| drop(program.main.names.insert(id, name)))
    };
    check(
        &named(2, "1st"),
        expect![[r#"
            %"1st" = add(%1, %x) : f32[n]
            # ^ "1st" is not a name for a value
            #   remedy: use letters, digits, `_` and `.`, not starting with a digit"#]],
    );
    check(
        &named(1, "x"),
        expect![[r#"
            %x = neg(%x) : f32[n]
            # ^ two values are named `x`"#]],
    );
    check(
        &named(1, ""),
        expect![[r#"
            %"" = neg(%x) : f32[n]
            # ^ "" is not a name for a value
            #   remedy: use letters, digits, `_` and `.`, not starting with a digit"#]],
    );
    check(
        &named(7, "z"),
        expect![[r#"
            return %2 as y
            # ^ the name `z` is given to %7, which is not defined"#]],
    );
}

#[test]
fn blocks_of_ops() {
    check_text(
        "main(%x: f32[n], %y: f32[]) {
           %1 = toy.repeat{trips=1, body=(%x: f32[n]) { return %x }}(%y) : f32[]
           %2 = toy.switch{branches=[
             (%z: f32[]) { return %z },
             (%z: f32[]) { %1 = neg(%z) : f32[2] return %1 }
           ]}(%y) : f32[]
         }",
        expect![[r#"
            }}(%y) : f32[]
            # ^ toy.repeat(f32[]): the body takes [f32[n]]
            %1 = neg(%z) : f32[2]
            # ^ neg(f32[]): the op gives f32[], but f32[2] is declared"#]],
    );
}

#[test]
fn faults_are_told_and_counted() {
    let calls = "%a = neg(%x) : f64[]\n".to_string();
    let calls: String = (0..150).map(|i| calls.replace("%a", &format!("%{i}"))).collect();
    let text = format!("fluvial 1 main(%x: f32[]) {{ {calls} }}");
    let error = Program::parse(&text, &registry()).unwrap_err();
    assert_eq!(error.notes().last().unwrap(), "and 147 faults more");
    let source = std::error::Error::source(&error).unwrap();
    let faults: &Faults = source.downcast_ref().unwrap();
    assert_eq!((faults.len(), faults.iter().count()), (150, 100));
    assert!(faults.to_string().ends_with("\n# and 50 faults more"));

    let program = changed(|program| program.main.types[2] = ty("f32[]"));
    let error = verify(&program).unwrap_err();
    expect!["main, call 1: add(f32[n], f32[n]): the op gives f32[n], but f32[] is declared"]
        .assert_eq(&error.to_string());
    let found = fluvial_core::verify::faults(&program);
    let Place::Line(path, line) = &found.iter().next().unwrap().place else { unreachable!() };
    assert_eq!((path.section, path.steps.len(), *line), (Section::Main, 0, Line::Call(1)));
}

#[test]
fn a_listing_shows_faults_below_their_lines() {
    let text = "fluvial 1
        state @w : f32[2] parameter
        startup { %0 = fill{value=1, ty=f32[3]}() : f32[3] assign{state=\"w\"}(%0) }
        main(%x: f32[n], %x_ as x: f32[]) {
          %1 = toy.repeat{trips=1, body=(%x: f32[n]) {
            %1 = neg(%x) : f32[m]
            return %x
          }}(%x) : f32[n]
          return %x
        }";
    let error = Program::parse(text, &registry()).unwrap_err();
    expect![[r#"
        fluvial 1

        state @w : f32[2] parameter

        startup {
          %0 = fill{value=1.0, ty=f32[3]}() : f32[3]
          assign{state="w"}(%0)
          # ^ assign(f32[3]): state `w` is declared f32[2], but is used as f32[3]
        }

        main(%x: f32[n], %x_ as x: f32[]) {
          # ^ two inputs are named `x`
          %2 = toy.repeat{trips=1, body=(%x: f32[n]) {
            %1 = neg(%x) : f32[m]
            # ^ neg(f32[n]): the op gives f32[n], but f32[m] is declared
            return %x
          }}(%x) : f32[n]
          return %x
        }"#]]
    .assert_eq(&std::error::Error::source(&error).unwrap().to_string());
}

#[test]
fn a_listing_with_faults_is_still_a_program() {
    let program = changed(|program| program.main.types[2] = Type::scalar(ty("f32[]").dtype()));
    let listing = faults(&program).to_string();
    let fixed = listing.replace("%2 = add(%1, %x) : f32[]", "%2 = add(%1, %x) : f32[n]");
    assert_eq!(Program::parse(&fixed, &registry()).unwrap(), small());
}
