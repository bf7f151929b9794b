//! What the command line changes of a program and its states before it runs.

use std::path::Path;
use std::sync::Arc;

use fluvial::core::{
    Attr, Attrs, Block, Call, DType, Error, ErrorKind, Program, State, Tensor, Type, map_blocks,
};
use serde_json::{Value as Json, json};

use crate::fault::{Outcome, usage};
use crate::feeds::Feeds;
use crate::names;
use crate::out::Out;
use crate::tensors;

/// Carries out `--set NAME=VALUE`: gives a state its initial value, or feeds an input. Returns the states.
pub fn set(
    program: &Program,
    given: &[String],
    state: &State,
    feeds: &mut Feeds,
) -> Outcome<Vec<String>> {
    let mut set = Vec::new();
    let states = program.states.iter().map(|(name, decl)| (&**name, decl.ty));
    let inputs = program.inputs.iter().zip(program.input_types());
    let types: Vec<(&str, Type)> = states.chain(inputs.map(|(name, ty)| (&**name, *ty))).collect();
    let known: Vec<&str> = types.iter().map(|(name, _)| *name).collect();
    for given in given {
        let Some((typed, text)) = given.split_once('=') else {
            return Err(usage(format!("`{given}` sets nothing"), "write --set NAME=VALUE"));
        };
        let typed = typed.strip_prefix('@').unwrap_or(typed);
        let name = match names::meant(typed, &known).as_slice() {
            [name] => *name,
            [] => {
                let listed = names::listed(typed, known.iter().copied());
                let what = format!("the program has no state and no input `{typed}`");
                return Err(usage(what, format!("what there is: {listed}")));
            }
            several => {
                let what = format!("`{typed}` is the end of several names");
                return Err(usage(what, format!("say which: {}", several.join(", "))));
            }
        };
        let ty = types.iter().find(|(known, _)| *known == name).map(|(_, ty)| *ty);
        let ty = ty.ok_or_else(|| Error::internal("a known name has a type"))?;
        let value = value(name, text, &ty)?;
        match program.states.get(name) {
            Some(decl) => {
                state.insert(name, decl.role, value)?;
                set.push(name.to_string());
            }
            None => feeds.add(name, value, "--set")?,
        }
    }
    Ok(set)
}

/// The tensor of that type that a text says: a number, a word, or lists of them.
fn value(name: &str, text: &str, ty: &Type) -> Outcome<Tensor> {
    let word = |text: &str| match text {
        "inf" | "-inf" | "nan" | "NaN" => Some(Json::String(text.to_string())),
        _ => None,
    };
    let Some(json) = word(text).or_else(|| serde_json::from_str(text).ok()) else {
        let what = format!("`{text}` is not a value for `{name}`, which is {ty}");
        return Err(usage(what, "write a number, true, false, or lists: [[1, 2], [3, 4]]"));
    };
    let (mut dims, mut numbers) = (Vec::new(), Vec::new());
    let is_even = flatten(&json, 0, &mut dims, &mut numbers);
    let fits = |sizes: &[usize]| {
        let declared = ty.dims().iter().map(|dim| dim.value());
        sizes.len() == ty.rank()
            && declared.zip(sizes).all(|(declared, &size)| declared.is_none_or(|n| n == size))
    };
    if !is_even || ty.is_list() || !fits(&dims) {
        let what = format!("`{text}` does not have the sizes of `{name}`, which is {ty}");
        return Err(usage(what, "write as many numbers, in lists for each axis, or use a file"));
    }
    let whole = |number: &Json| number.as_i64().or_else(|| number.as_bool().map(i64::from));
    let wrong = || {
        let what = format!("`{text}` has other elements than `{name}`, which is {ty}");
        usage(what, format!("write elements of type {}", ty.dtype()))
    };
    if !ty.is_float() {
        let ints: Option<Vec<i64>> = numbers.iter().map(|number| whole(number)).collect();
        let ints = ints.ok_or_else(wrong)?;
        let tensor = Tensor::from_slice(&ints, &dims)?;
        let cast = tensor.cast(ty.dtype())?;
        return match cast.cast(DType::I64)?.bitwise_eq(&tensor) {
            true => Ok(cast),
            false => Err(wrong()),
        };
    }
    let float = |number: &&Json| match number {
        Json::String(word) => word.parse().ok(),
        number => number.as_f64(),
    };
    let floats: Option<Vec<f64>> = numbers.iter().map(float).collect();
    Ok(Tensor::from_f64s(ty.dtype(), &floats.ok_or_else(wrong)?, &dims)?)
}

/// Collects elements in order, and says whether lists that stand side by side have the same length.
fn flatten<'a>(
    json: &'a Json,
    depth: usize,
    dims: &mut Vec<usize>,
    numbers: &mut Vec<&'a Json>,
) -> bool {
    let Json::Array(items) = json else {
        numbers.push(json);
        return depth == dims.len();
    };
    match dims.get(depth) {
        Some(&n) if n != items.len() => return false,
        Some(_) => {}
        None if numbers.is_empty() => dims.push(items.len()),
        None => return false,
    }
    items.iter().all(|item| flatten(item, depth + 1, dims, numbers))
}

/// Carries out `--epochs N` on the outermost loops over readers.
pub fn with_epochs(program: &Program, epochs: u32) -> Outcome<Program> {
    let mut n_loops = 0;
    let main = loops_changed(&program.main, epochs, &mut n_loops)?;
    match n_loops {
        0 => Err(usage("the program has no loop over a reader", "leave `--epochs` out")),
        _ => Ok(Program { main, ..program.clone() }),
    }
}

fn loops_changed(block: &Block, epochs: u32, n_loops: &mut usize) -> Result<Block, Error> {
    block.rewrite(|on, _, call: &Call| {
        let op = if call.op.reader().is_some() {
            *n_loops += 1;
            let mut attrs = Attrs::new();
            for (name, attr) in call.op.attrs().iter().filter(|(name, _)| *name != "epochs") {
                attrs.push(name.to_string(), attr.clone());
            }
            attrs.push("epochs", Attr::Int(i64::from(epochs)));
            call.op.rebuild(&attrs).map_err(|error| error.at(call.loc))?
        } else if call.op.blocks().is_empty() {
            return Ok(None);
        } else {
            map_blocks(&call.op, &mut |inner| loops_changed(inner, epochs, n_loops).map(Arc::new))?
        };
        Ok(Some(on.push(op, &call.inputs, block.output_types(call), call.loc)))
    })
}

/// Carries out `--load FILE`: gives states the values that a file has for them. Returns these states.
pub fn load(program: &Program, path: &Path, state: &State, out: &Out) -> Outcome<Vec<String>> {
    let shown = path.display();
    let (mut faults, mut others, mut loaded) = (Vec::new(), Vec::new(), Vec::new());
    for (name, tensor) in tensors::read(path)? {
        let Some(decl) = program.states.get(&*name) else {
            others.push(name);
            continue;
        };
        loaded.push(name.clone());
        let found = tensor.ty();
        match found == decl.ty {
            true => state.insert(&name, decl.role, tensor)?,
            false => faults.push(format!("`{name}` is {}, but the file has {found}", decl.ty)),
        }
    }
    if loaded.is_empty() {
        let known = names::listed("", program.states.keys().map(|name| &**name));
        let what = format!("`{shown}` has no state of the program");
        return Err(Error::new(ErrorKind::State, what)
            .remedy(format!("its states: {known}"))
            .into());
    }
    if !faults.is_empty() {
        let what = format!("states in `{shown}` have other types than those of the program");
        let error = Error::new(ErrorKind::State, what).remedy("load the file that belongs to it");
        return Err(faults.into_iter().fold(error, Error::note).into());
    }
    if !others.is_empty() {
        let text = format!("note: `{shown}` has more than the program: {}", others.join(", "));
        out.note(&text, || json!({"event": "unused", "file": shown.to_string(), "names": others}));
    }
    Ok(loaded)
}

/// Carries out `--save FILE`: writes all states of the program.
pub fn save(program: &Program, path: &Path, state: &State) -> Outcome<()> {
    let mut all = Vec::new();
    for name in program.states.keys().filter(|name| state.contains(name)) {
        all.push((&**name, state.tensor(name)?));
    }
    let borrowed: Vec<(&str, &Tensor)> = all.iter().map(|(name, x)| (*name, x)).collect();
    Ok(tensors::write(path, &borrowed)?)
}

#[cfg(test)]
mod tests {
    use fluvial::core::{Arity, Grad, Op, Types, Value, Values, attributes, bind1, verify};
    use smallvec::SmallVec;

    use super::*;

    attributes! {
        /// Passes its input on. Either a loop over a reader, or something else with a block.
        struct Loop = "test.loop" {
            is_reader: bool,
            epochs: Option<usize>,
            body: Arc<Block>,
        }
    }

    impl Op for Loop {
        fn arity(&self) -> Arity {
            Arity::Exactly(1)
        }

        fn infer(&self, inputs: &[&Type]) -> Result<Types, Error> {
            Ok(Types::from_elem(*inputs[0], 1))
        }

        fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values, Error> {
            Ok(Values::from_elem(inputs[0].clone(), 1))
        }

        fn grad(&self) -> Grad {
            Grad::Zero
        }

        fn reader(&self) -> Option<&str> {
            self.is_reader.then_some("data")
        }

        fn blocks(&self) -> SmallVec<[&Arc<Block>; 2]> {
            SmallVec::from_slice(&[&self.body])
        }
    }

    fn program(is_reader: bool, epochs: Option<usize>, body: Block) -> Program {
        let (ty, body) = (Type::of(DType::F32, &[]).unwrap(), Arc::new(body));
        let wrap = |op: Loop, x: &fluvial::core::Var| bind1(op, &[x]);
        Program::build(&[("x", ty)], |x| {
            Ok(vec![wrap(Loop { is_reader, epochs, body: body.clone() }, &x[0])?])
        })
        .unwrap()
    }

    /// The epochs of all calls, the outermost first.
    fn epochs(block: &Block) -> Vec<Option<usize>> {
        let mut found = Vec::new();
        for op in block.calls.iter().filter_map(|call| call.op.downcast::<Loop>()) {
            found.push(op.epochs);
            found.extend(epochs(&op.body));
        }
        found
    }

    #[test]
    fn epochs_of_the_outermost_loops() {
        let evaluation = program(true, Some(1), Block::default());
        let training = program(true, None, evaluation.main);
        let changed = with_epochs(&training, 3).unwrap();
        verify(&changed).unwrap();
        assert_eq!(epochs(&changed.main), [Some(3), Some(1)]);
        // A loop inside something else is found, too.
        let inside = program(false, None, training.main);
        assert_eq!(epochs(&with_epochs(&inside, 7).unwrap().main), [None, Some(7), Some(1)]);
        assert!(with_epochs(&program(false, None, Block::default()), 3).is_err());
    }

    #[test]
    fn values_of_types() {
        let of = |text: &str, ty: &str| value("x", text, &Type::parse(ty).unwrap());
        let shown = |text: &str, ty: &str| format!("{:?}", of(text, ty).unwrap());
        assert_eq!(shown("0.1", "f32[]"), "f32[] 0.1");
        assert_eq!(shown("-inf", "f64[]"), "f64[] -inf");
        assert_eq!(shown("7", "f16[]"), "f16[] 7.0");
        assert_eq!(shown("9007199254740993", "i64[]"), "i64[] 9007199254740993");
        assert_eq!(shown("true", "bool[]"), "bool[] true");
        assert_eq!(shown("[[1, 2], [3, 4]]", "i32[n, 2]"), "i32[2, 2] [[1, 2], [3, 4]]");
        assert_eq!(shown("[]", "f32[n]"), "f32[0] []");
        for (text, ty) in [
            ("300", "u8[]"),
            ("1.5", "i64[]"),
            ("2", "bool[]"),
            ("true", "f32[]"),
            ("\"x\"", "f32[]"),
            ("[1, 2]", "f32[3]"),
            ("[[1], 2]", "f32[2, 1]"),
            ("[1, [2]]", "f32[2, 1]"),
            ("null", "f32[]"),
        ] {
            assert!(of(text, ty).is_err(), "{text} {ty}");
        }
    }
}
