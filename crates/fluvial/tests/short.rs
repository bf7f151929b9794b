//! Programs in the short form, as people write them.

use std::path::Path;

use fluvial::prelude::{
    DType, Error, Executor, Initializer, Interpreter, Linear, Program, Result, State, Tensor, Type,
    registry,
};
use fluvial::short;

fn parse(text: &str) -> Result<Program> {
    Program::parse(text, &short::registry())
}

/// Runs a program of no inputs call by call and compiled; the outputs, which are the same.
fn run(program: &Program) -> Result<Vec<Tensor>> {
    let by_calls = Interpreter::new(program.clone(), State::new())?.run(&[])?;
    let compiled = Executor::new(program, State::new())?.run(&[])?;
    for (a, b) in by_calls.iter().zip(&compiled) {
        assert!(a.bitwise_eq(b), "{a:?} {b:?}");
    }
    Ok(compiled)
}

fn file(name: &str) -> (std::path::PathBuf, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/short");
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

#[test]
fn a_network_in_thirty_lines_learns() -> Result<()> {
    for name in ["mlp.fl", "layers.fl"] {
        let (path, text) = file(name);
        assert!(text.lines().count() <= 30, "{name}");
        let program = Program::load(&path, &short::registry())?;
        let loss = run(&program)?[0].item::<f32>()?;
        assert!(loss < 0.05, "{name}: {loss}");
        // What was built is a program like all others, and its text is in the full form.
        let full = program.to_string();
        assert!(full.starts_with("fluvial 1\n"));
        assert_eq!(Program::parse(&full, &registry())?, program);
        assert_eq!(Program::from_bytes(&program.to_bytes(), &registry())?, program);
        assert_eq!(parse(&text)?.states, program.states);
    }
    Ok(())
}

#[test]
fn layers_begin_as_those_of_rust() -> Result<()> {
    let program = parse(
        "fluvial 1 short
         main(%x: f32[n, 3]) {
           %fc = Linear{outputs=5}(%x)
           return %fc
         }",
    )?;
    let state = State::new();
    let x = Tensor::from_slice(&[0.5f32; 6], &[2, 3])?;
    let outputs = Executor::new(&program, state.clone())?.run(&[("x", x.clone())])?;
    let scope = State::new();
    let _scope = scope.enter();
    let y = fluvial::nn::Layer::forward(&Linear::new("fc", 3, 5), &x.into())?;
    assert!(y.tensor()?.bitwise_eq(&outputs[0]));
    assert_eq!(outputs[0].ty(), Type::of(DType::F32, &[2, 5])?);
    Ok(())
}

#[test]
fn gradients_are_values() -> Result<()> {
    let text = |rest: &str| {
        format!(
            "fluvial 1 short
             state @w : f64[2] parameter = f64[2](3.0, -1.0)
             main() {{
               %y = mul(@w, @w)
               %loss = sum(%y)
               {rest}
             }}"
        )
    };
    let program = parse(&text("%slope = grad(%loss, @w) : f64[2]\n return %slope"))?;
    assert_eq!(run(&program)?[0].to_vec::<f64>()?, [6.0, -2.0]);
    let twice = "%slope = grad(%loss, @w)
                 %total = sum(%slope)
                 %second = grad(%total, @w)
                 return %second";
    assert_eq!(run(&parse(&text(twice))?)?[0].to_vec::<f64>()?, [2.0, 2.0]);
    // Only what is named is trained, by a rate that the run can be given.
    let program = parse(&text("sgd{lr=0.25}(%loss, @w)\n return @w"))?;
    let state = State::new();
    Executor::new(&program, state.clone())?.run(&[])?;
    assert_eq!(state.tensor("w")?.to_vec::<f64>()?, [1.5, -0.5]);
    assert_eq!(state.tensor("sgd.lr")?.item::<f64>()?, 0.25);
    Ok(())
}

#[test]
fn every_initialiser_and_optimizer_is_known() -> Result<()> {
    let inits = [
        "zeros",
        "ones",
        "constant{value=2}",
        "uniform{low=0.0, high=1.0}",
        "normal{std=0.1}",
        "truncated_normal",
        "xavier_uniform",
        "xavier_normal{gain=2.0}",
        "kaiming_uniform{fan=\"fan_out\", function=\"tanh\"}",
        "kaiming_normal",
        "orthogonal",
        "eye",
        "f64[2, 2](all 0.5)",
        "0.5",
    ];
    for init in inits {
        let program = parse(&format!(
            "fluvial 1 short state @w : f64[2, 2] parameter = {init} main() {{ return @w }}"
        ))?;
        let outputs = run(&program).map_err(|error| error.note(init.to_string()))?;
        assert_eq!(outputs[0].numel(), 4, "{init}");
        assert!(outputs[0].to_f64s().iter().all(|x| x.is_finite()), "{init}");
    }
    let drawn = parse(
        "fluvial 1 short state @w : f64[2, 2] parameter = xavier_uniform main() { return @w }",
    )?;
    let w = run(&drawn)?[0].to_f64s();
    let bound = Initializer::xavier_uniform(1.0).draw(&Type::of(DType::F64, &[2, 2])?);
    assert!(bound.is_ok() && w[0] != w[1]);
    for make in fluvial::optim::RULES {
        let rule = make();
        let name = fluvial::optim::Rule::name(&rule);
        let program = parse(&format!(
            "fluvial 1 short
             state @w : f64[2, 2] parameter = f64[2, 2](0.5, -1.0, 2.0, 1.5)
             main() {{
               %last = repeat{{times=60}}(0.0) (%i: i64[], %before: f64[]) {{
                 %square = mul(@w, @w)
                 %loss = sum(%square)
                 {name}{{lr=0.01}}(%loss)
                 return %loss
               }}
               return %last
             }}"
        ))?;
        assert!(run(&program)?[0].item::<f64>()? < 7.5, "{name}");
    }
    Ok(())
}

#[test]
fn loops_see_what_stands_around_them() -> Result<()> {
    let doubles = parse(
        "fluvial 1 short
         state @trips : i64[] counter = zeros
         main(%x: f64[], %bound: f64[]) {
           %first = lt(%x, %bound)
           %last = while(%first, %x) (%value: f64[]) {
             %next = add(%value, %value)
             %count = add(@trips, 1)
             assign{state=\"trips\"}(%count)
             %goes_on = lt(%next, %bound)
             return %goes_on, %next
           }
           return %last, @trips
         }",
    )?;
    let inputs = [("x", Tensor::scalar(3.0)), ("bound", Tensor::scalar(100.0))];
    let outputs = Executor::new(&doubles, State::new())?.run(&inputs)?;
    assert_eq!((outputs[0].item::<f64>()?, outputs[1].item::<i64>()?), (192.0, 6));
    Ok(())
}

#[test]
fn readers_give_batches_of_any_size() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("fluvial-short-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let points = folder.join("points.csv");
    std::fs::write(&points, "x,y\n0,1\n1,3\n2,5\n3,7\n4,9\n").unwrap();
    fluvial::data::files::allow(&points)?;
    let program = parse(&format!(
        "fluvial 1 short
         state @a : f32[] parameter = zeros
         state @b : f32[] parameter = zeros
         main() {{
           %loss = for_each{{reader=\"csv(\\\"{}\\\", dtype=[\\\"float32\\\", \\\"float32\\\"]).batch(2)\", epochs=300}}(0.0)
               (%x: f32[n], %y: f32[n], %before: f32[]) {{
             %scaled = mul(%x, @a) : f32[n]
             %guess = add(%scaled, @b) : f32[n]
             %loss = MSELoss(%guess, %y)
             adam{{lr=0.05}}(%loss)
             return %loss
           }}
           return %loss
         }}",
        points.display()
    ))?;
    let state = State::new();
    let outputs = Executor::new(&program, state.clone())?.run(&[])?;
    std::fs::remove_dir_all(&folder).ok();
    assert!(outputs[0].item::<f32>()? < 0.01);
    assert!((state.tensor("a")?.item::<f32>()? - 2.0).abs() < 0.1);
    Ok(())
}

/// Batches are smaller at the end, and are called by their size wherever sizes stand.
#[test]
fn sizes_have_their_names_in_loops() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("fluvial-short-sizes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let points = folder.join("points.csv");
    std::fs::write(&points, "x,y\n1,2\n3,4\n5,6\n7,8\n9,10\n").unwrap();
    let text = "fluvial 1 short
        main(%bias: f64[m]) {
          %end = for_each{reader=\"csv(\\\"POINTS\\\", dtype=[\\\"float64\\\", \\\"float64\\\"]).batch(2)\"}(0.0)
              (%x: f64[n], %y: f64[n], %before: f64[]) {
            %both = concat{axis=0}(%x, %y) : f64[2*n]
            %rows = reshape{dims=[2, <n>]}(%both) : f64[2, n]
            %all = reshape{dims=[<2*n>]}(%rows) : f64[2*n]
            %longer = concat{axis=0}(%all, %bias) : f64[m + 2*n]
            %flat = reshape{dims=[<2*n + m>, 1]}(%longer)
            %sum = sum(%flat)
            %next = add(%before, %sum)
            return %next
          }
          return %end
        }";
    fluvial::data::files::allow(&points)?;
    let program = parse(&text.replace("POINTS", &points.display().to_string()))?;
    let executor = Executor::new(&program, State::new())?;
    let outputs = executor.run(&[("bias", Tensor::from_slice(&[1.0f64, 1.0, 1.0], &[3])?)])?;
    std::fs::remove_dir_all(&folder).ok();
    assert_eq!(outputs[0].item::<f64>()?, 55.0 + 3.0 * 3.0);
    Ok(())
}

#[test]
fn functions_of_several_ops_are_statements() -> Result<()> {
    let program = parse(
        "fluvial 1 short
         main() {
           %x = constant{value=f64[2](3.0, 4.0)}()
           %y = constant{value=f64[2](1.0, 2.0)}()
           %ids = constant{value=i64[2](2, 0)}()
           %rows = stack{axis=1}(%x, %y) : f64[2, 2]
           %turned = transpose(%rows) : f64[2, 2]
           %m = mean{axes=[1]}(%turned)
           %all = mean(%rows)
           %n = norm(%x)
           %v = var{axes=[0], correction=0}(%x)
           %s = std(%x)
           %line = flatten(%rows) : f64[4]
           %one = unsqueeze{axis=0}(%line) : f64[1, 4]
           %back = squeeze(%one) : f64[4]
           %chosen = one_hot{classes=3}(%ids) : i64[2, 3]
           return %m, %all, %n, %v, %s, %back, %chosen
         }",
    )?;
    let outputs = run(&program)?;
    let expected = ["[3.5, 1.5]", "2.5", "5.0", "0.25"];
    for (output, expected) in outputs.iter().zip(expected) {
        assert_eq!(format!("{output}"), expected);
    }
    assert_eq!(outputs[4].item::<f64>()?, 0.5f64.sqrt());
    assert_eq!(format!("{}", outputs[5]), "[3.0, 1.0, 4.0, 2.0]");
    assert_eq!(outputs[6].to_vec::<i64>()?, [0, 0, 1, 1, 0, 0]);
    let of =
        |line: &str| fault(&format!("fluvial 1 short\nmain(%x: f32[2]) {{\n{line}\nreturn %x }}"));
    assert_eq!(of("%y = mean(%x, %x)"), "3:1: `mean` takes 1 value, and is given 2");
    assert_eq!(of("%y = stack()"), "3:1: `stack` takes values, and is given 0");
    assert_eq!(of("%y = mean{axis=1}(%x)"), "3:1: op `mean` has no attribute `axis`");
    assert_eq!(of("%y = unsqueeze(%x)"), "3:1: op `unsqueeze` needs the attribute `axis`");
    Ok(())
}

/// The first line of the error for a text, which begins with line and column.
fn fault(text: &str) -> String {
    let error: Error = parse(text).expect_err("the text is wrong");
    error.message().lines().next().unwrap_or_default().to_string()
}

#[test]
fn faults_are_told_at_their_lines() {
    let main = |line: &str| {
        format!("fluvial 1 short\nmain(%x: f32[n, 3], %i: i64[]) {{\n  {line}\n  return %x\n}}")
    };
    let cases = [
        ("%y = add(%x, %z)", "3:16: %z is not defined above"),
        ("%x = tanh(%x)", "3:3: %x is defined above already"),
        ("%y = tanhh(%x)", "3:3: no op, layer or optimizer is named `tanhh`"),
        ("%y = tanh(%x) : f32[n, 4]", "3:3: the text says f32[n, 4], but it is f32[n, 3]"),
        ("%y, %z = tanh(%x)", "3:3: `tanh` gives 1 values, which get 2 names"),
        ("%y = Linear(%x)", "3:3: `Linear` needs its option `outputs`"),
        ("%y = Linear{outputs=3, size=2}(%x)", "3:3: `Linear` has no option `size`"),
        ("%y = sum(%x) adam(%y)", "3:16: `adam` needs its learning rate, `lr`"),
        (
            "%y = sum(%x) adam{lr=0.1, beta=2}(%y)",
            "3:16: the optimizer `adam` has no option `beta`",
        ),
        ("%y = grad(%x)", "3:3: `grad` takes a loss, and what it is differentiated by"),
        ("%y = add(%i, 0.5)", "3:16: 0.5 is not a number of i64"),
        ("%y = tanh(@w)", "3:14: there is no state named `w`"),
        ("%y = read{state=\"w\", ty=f32[]}()", "3:3: a state is read by its name"),
        ("%y = tanh(%x) (%a: f32[]) { return %a }", "3:3: `tanh` takes no block"),
        (
            "%y = repeat(0.0) (%i: i64[], %a: f32[]) { return %a }",
            "3:3: `repeat` needs `times`, a whole number",
        ),
        (
            "%y = reshape{dims=[3, -1]}(%x)",
            "3:3: attribute `dims` of op `reshape` is wrong at position 1: it should be a size, found -1",
        ),
        (
            "%y = reshape{dims=3}(%x)",
            "3:3: attribute `dims` of op `reshape` should be a list, found an integer",
        ),
        ("%y = for_each(0.0) (%a: f32[]) { return %a }", "3:3: `for_each` needs `reader`, a text"),
        (
            "%y = repeat{times=3}(0.0) (%j: i64[], %a: f32[]) {\n    %b = add(%a, %none)\n    return %b }",
            "4:18: %none is not defined above",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(fault(&main(line)), expected, "{line}");
    }
    let no_value = "fluvial 1 short\nstate @w : f32[] parameter\nmain() { return @w }";
    assert_eq!(fault(no_value), "3:1: expected `=` and the initial value, found `main`");
    let wrong = "fluvial 1 short\nstate @w : f32[] parameter = zero\nmain() { return @w }";
    assert_eq!(fault(wrong), "2:8: no initialiser is named `zero`");
    let twice = "fluvial 1 short\nstate @w : f32[] buffer = zeros\nstate @w : f32[] buffer = zeros\nmain() { return @w }";
    assert_eq!(fault(twice), "3:8: a state of this name is declared above");
    let shape = main("%y = reshape{dims=[7]}(%x)");
    assert!(fault(&shape).starts_with("3:3: "), "{}", fault(&shape));
    // A reader that knows ops alone says what it lacks.
    let error = Program::parse("fluvial 1 short main() { }", &registry()).expect_err("no reader");
    assert!(error.to_string().contains("short::registry"), "{error}");
    // After a fault nothing is left open.
    assert!(parse("fluvial 1 short main(%x: f32[]) { return %x }").is_ok());
}

/// Texts that are nearly right are programs or errors, never panics, and soon.
#[test]
fn any_text_is_a_program_or_an_error() {
    let texts = ["mlp.fl", "layers.fl"].map(|name| file(name).1.replace("times=400", "times=3"));
    let words = [
        "-1",
        "0",
        "9223372036854775807",
        "1e308",
        "nan",
        "f32[0]",
        "f32[n, n]",
        "i64[]",
        "@w1",
        "%x",
        "Linear",
        "LSTM{hidden_size=3}",
        "repeat",
        "while",
        "grad",
        "adam",
        "{",
        "}",
        "(",
        ")",
        ",",
        "=",
        "return",
        "state",
        "\"a\"",
        "none",
        "[1, 2]",
        "Conv2d{outputs=2, kernel=3}",
        "momentum{lr=0.1}",
    ];
    let mut seed = 7u64;
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    let (mut n_fine, mut n_wrong) = (0, 0);
    for _ in 0..1500 {
        let text = &texts[below(2)];
        let mut tokens: Vec<&str> =
            text.split_inclusive(|c: char| " (){},=\n".contains(c)).collect();
        for _ in 0..1 + below(3) {
            let at = 4 + below(tokens.len() - 4);
            match below(4) {
                0 => drop(tokens.remove(at)),
                1 => tokens.insert(at, words[below(words.len())]),
                2 => tokens[at] = words[below(words.len())],
                _ => {
                    let other = 4 + below(tokens.len() - 4);
                    tokens.swap(at, other);
                }
            }
        }
        match parse(&tokens.concat()) {
            Ok(program) => {
                let again = Program::parse(&program.to_string(), &registry());
                assert!(again.is_ok_and(|again| again == program), "{}", tokens.concat());
                n_fine += 1;
            }
            Err(_) => n_wrong += 1,
        }
    }
    assert!(n_fine > 20 && n_wrong > 500, "{n_fine} {n_wrong}");
    assert_eq!(fluvial::core::mode(), fluvial::core::Mode::Imperative);
}
