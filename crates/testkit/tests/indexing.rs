//! Shapes and indices: random ones against a naive model, symbolic sizes, what is refused, and what
//! does not copy.

use fluvial_core::{Dim, Program, Result, Tensor, Type, Var, Whole, decisions};
use fluvial_ops::*;
use fluvial_testkit::Modes;
use fluvial_testkit::random::Rng;

fn numbers(dims: &[usize]) -> Tensor {
    let count: usize = dims.iter().product();
    let values: Vec<f64> = (0..count).map(|i| ((i * 29 + 7) % 41) as f64 / 8.0 - 2.5).collect();
    Tensor::from_vec(values, dims).expect("as many numbers as elements")
}

fn i64s(values: &[i64], dims: &[usize]) -> Var {
    Var::of(values, dims).expect("as many numbers as elements")
}

/// An axis' selector in the naive model.
enum Selector {
    Steps(Vec<usize>),
    /// Positions with their sizes, broadcast with those of the other axes.
    Fancy(Vec<usize>, Vec<usize>),
    NewAxis,
    Gap,
}

fn each_index(dims: &[usize], mut f: impl FnMut(&[usize])) {
    let count: usize = dims.iter().product();
    for mut number in 0..count {
        let mut index = vec![0; dims.len()];
        for axis in (0..dims.len()).rev() {
            index[axis] = number % dims[axis];
            number /= dims[axis];
        }
        f(&index);
    }
}

fn number(index: &[usize], dims: &[usize]) -> usize {
    index.iter().zip(dims).fold(0, |number, (i, n)| number * n + i)
}

/// The element of a tensor of `dims` that broadcasting shows at `index`.
fn broadcast_number(index: &[usize], dims: &[usize]) -> usize {
    let own: Vec<usize> = index[index.len() - dims.len()..]
        .iter()
        .zip(dims)
        .map(|(&i, &n)| if n == 1 { 0 } else { i })
        .collect();
    number(&own, dims)
}

/// Sizes of the result and the number of each of its elements, one by one.
fn naive(dims: &[usize], selectors: &[Selector]) -> (Vec<usize>, Vec<usize>) {
    let is_fancy = |selector: &Selector| matches!(selector, Selector::Fancy(..));
    let mut meeting: Vec<usize> = Vec::new();
    for selector in selectors {
        if let Selector::Fancy(_, shape) = selector {
            while meeting.len() < shape.len() {
                meeting.insert(0, 1);
            }
            let skip = meeting.len() - shape.len();
            for (own, &n) in meeting[skip..].iter_mut().zip(shape) {
                *own = if *own == 1 { n } else { *own };
            }
        }
    }
    let first = selectors.iter().position(is_fancy);
    let together = match (first, selectors.iter().rposition(is_fancy)) {
        (Some(first), Some(last)) => selectors[first..=last].iter().all(is_fancy),
        _ => true,
    };
    let (mut out, mut fancy_at) = (Vec::new(), 0);
    for (i, selector) in selectors.iter().enumerate() {
        if first == Some(i) && together {
            fancy_at = out.len();
            out.extend_from_slice(&meeting);
        }
        match selector {
            Selector::Steps(positions) => out.push(positions.len()),
            Selector::NewAxis => out.push(1),
            _ => {}
        }
    }
    if first.is_some() && !together {
        out.splice(0..0, meeting.iter().copied());
    }
    let mut numbers = Vec::new();
    each_index(&out, |index| {
        let n_fancy = if first.is_some() { meeting.len() } else { 0 };
        let fancy = &index[fancy_at..fancy_at + n_fancy];
        let mut basic = index[..fancy_at].iter().chain(&index[fancy_at + n_fancy..]);
        let mut source = Vec::new();
        for selector in selectors {
            match selector {
                Selector::Steps(positions) => source.push(positions[*basic.next().unwrap()]),
                Selector::Fancy(positions, shape) => {
                    source.push(positions[broadcast_number(fancy, shape)]);
                }
                Selector::NewAxis => assert_eq!(basic.next(), Some(&0)),
                Selector::Gap => {}
            }
        }
        numbers.push(number(&source, dims));
    });
    (out, numbers)
}

/// A random index for these dims, for the function and for the model.
fn random_index(rng: &mut Rng, dims: &[usize]) -> (Vec<Index>, Vec<Selector>) {
    let (mut index, mut selectors, mut axis) = (Vec::new(), Vec::new(), 0);
    let mut ellipsis = !rng.one_in(3);
    let shape = [vec![], vec![2], vec![3, 1], vec![1, 2], vec![1]];
    while axis < dims.len() && !(rng.one_in(6) && ellipsis) {
        let n = dims[axis];
        let signed = |rng: &mut Rng| rng.below(2 * n) as i64 - n as i64;
        let place = |position: i64| position.rem_euclid(n as i64) as usize;
        match rng.below(9) {
            0 | 1 => {
                let position = signed(rng);
                index.push(Index::from(position));
                selectors.push(Selector::Fancy(vec![place(position)], vec![]));
                axis += 1;
            }
            2..=4 => {
                let bound = |rng: &mut Rng| {
                    let position = rng.below(3 * n + 1) as i64 - n as i64 - n as i64 / 2;
                    (!rng.one_in(3)).then_some(position)
                };
                let (start, stop) = (bound(rng), bound(rng));
                let step = *rng.pick(&[1, 1, 2, 3, -1, -2]);
                index.push(Index::steps(start, stop, step));
                selectors.push(Selector::Steps(python_slice(n, start, stop, step)));
                axis += 1;
            }
            5 | 6 => {
                let shape = rng.pick(&shape).clone();
                let positions: Vec<i64> =
                    (0..shape.iter().product()).map(|_| signed(rng)).collect();
                index.push(i64s(&positions, &shape).into());
                let positions = positions.into_iter().map(place).collect();
                selectors.push(Selector::Fancy(positions, shape));
                axis += 1;
            }
            7 if selectors.len() < 4 => {
                index.push(Index::NewAxis);
                selectors.push(Selector::NewAxis);
            }
            _ if !ellipsis => {
                ellipsis = true;
                let skipped = rng.below(dims.len() - axis + 1);
                index.push(Index::Ellipsis);
                selectors.push(Selector::Gap);
                for &n in &dims[axis..axis + skipped] {
                    selectors.push(Selector::Steps((0..n).collect()));
                }
                axis += skipped;
                // What follows an ellipsis must reach the last axis.
                for &n in &dims[axis..] {
                    index.push(Index::ALL);
                    selectors.push(Selector::Steps((0..n).collect()));
                }
                axis = dims.len();
            }
            _ => {}
        }
    }
    for &n in &dims[axis..] {
        selectors.push(Selector::Steps((0..n).collect()));
    }
    (index, selectors)
}

/// The positions of a Python slice, found one by one.
fn python_slice(n: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> Vec<usize> {
    let n = n as i64;
    let from_back = |i: i64| if i < 0 { i + n } else { i };
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let start = start.map_or(if step > 0 { 0 } else { n - 1 }, |i| from_back(i).clamp(low, high));
    let stop = stop.map_or(if step > 0 { n } else { -1 }, |i| from_back(i).clamp(low, high));
    let mut positions = Vec::new();
    let mut position = start;
    while (step > 0 && position < stop) || (step < 0 && position > stop) {
        positions.push(position as usize);
        position += step;
    }
    positions
}

#[test]
fn random_indices_match_a_naive_model() -> Result<()> {
    let mut rng = Rng::new(3);
    let mut n_fancy = 0;
    for round in 0..3_000 {
        let dims: Vec<usize> = (0..1 + rng.below(4)).map(|_| 1 + rng.below(4)).collect();
        let x = Var::new(numbers(&dims));
        let values = x.to_vec::<f64>()?;
        let (index, mut selectors) = random_index(&mut rng, &dims);
        if !index.iter().any(|part| matches!(part, Index::Tensor(_))) {
            // Without tensors, single positions stand alone.
            for selector in &mut selectors {
                if let Selector::Fancy(positions, _) = selector {
                    *selector = Selector::Steps(positions.clone());
                }
            }
            let (out, numbers) = naive(&dims, &selectors);
            let found = getitem(&x, &index)?;
            let expected: Vec<f64> = numbers.iter().map(|&i| values[i]).collect();
            assert_eq!(found.to_vec::<f64>()?, expected, "{round}: {dims:?}{index:?}");
            assert_eq!(out.iter().product::<usize>(), expected.len());
            continue;
        }
        n_fancy += 1;
        let (out, numbers) = naive(&dims, &selectors);
        let found = getitem(&x, &index)?;
        assert_eq!(found.tensor()?.dims(), out, "{round}: {dims:?}{index:?}");
        let expected: Vec<f64> = numbers.iter().map(|&i| values[i]).collect();
        assert_eq!(found.to_vec::<f64>()?, expected, "{round}: {dims:?}{index:?}");
        let value = self::numbers(&out);
        let written = setitem(&x, &index, &Var::new(value.clone()))?;
        let mut expected = values.clone();
        numbers.iter().zip(value.to_f64s()).for_each(|(&i, value)| expected[i] = value);
        assert_eq!(written.to_vec::<f64>()?, expected, "{round}: {dims:?}{index:?}");
    }
    assert!(n_fancy > 500, "{n_fancy}");
    Ok(())
}

/// Runs a function in both modes, as a program with these types, with gradients to second order.
#[track_caller]
fn symbolic(types: &[&str], inputs: &[Tensor], f: impl Fn(&[Var]) -> Result<Var>) -> Vec<usize> {
    let types: Vec<Type> = types.iter().map(|ty| Type::parse(ty).unwrap()).collect();
    let modes = Modes::of(|x| Ok(vec![f(x)?])).types(&types);
    modes.check(inputs).outputs[0].tensor().unwrap().dims().to_vec()
}

#[test]
fn slices_of_symbolic_axes() {
    let steps = Index::steps;
    let cases = [
        (steps(None, Some(-1), 1), 4),
        (steps(Some(1), None, 1), 4),
        (steps(Some(-2), None, 1), 2),
        (steps(Some(1), Some(-1), 1), 3),
        (steps(None, Some(3), 1), 3),
        (steps(None, None, 2), 3),
        (steps(None, None, -1), 5),
        (steps(None, None, -2), 3),
        (steps(Some(-2), None, -1), 4),
        (steps(Some(3), Some(0), -2), 2),
        (steps(Some(1), None, 3), 2),
    ];
    for (part, size) in cases {
        let found = symbolic(&["f64[n, 2]"], &[numbers(&[5, 2])], |x| {
            getitem(&x[0], std::slice::from_ref(&part))
        });
        assert_eq!(found, [size, 2], "{part:?}");
    }
}

#[test]
fn ends_that_depend_on_sizes() {
    let n = || Whole::from(Dim::symbol("n").unwrap());
    let number = Whole::Number;
    let part = |start: Option<Whole>, stop: Option<Whole>, step| Index::Slice {
        start: start.map(End::At),
        stop: stop.map(End::At),
        step,
    };
    let less = n().sub(number(1)).unwrap();
    let half = n().floor_div(number(2)).unwrap();
    let cases = [
        (part(None, Some(less), 1), 4),
        (part(Some(half), None, 1), 3),
        (part(Some(half), Some(less), 1), 2),
        (part(Some(less), Some(number(0)), -2), 2),
        (part(Some(number(0).sub(half).unwrap()), None, 1), 2),
    ];
    for (part, size) in cases {
        decisions::begin_examples(vec![(Dim::symbol("n").unwrap(), 5)]);
        let program = Program::build(&[("x", Type::parse("f64[n, 2]").unwrap())], |x| {
            Ok(vec![getitem(&x[0], std::slice::from_ref(&part))?])
        });
        let made = decisions::end_examples().made;
        let found = program.unwrap().apply(&[&Var::new(numbers(&[5, 2]))]).unwrap();
        assert_eq!(found[0].ty().to_string(), format!("f64[{size}, 2]"), "{part:?}");
        assert!(made.iter().all(|made| made.stands(&|_| Some(6)).unwrap()), "{part:?} {made:?}");
    }
}

#[test]
fn slices_are_cut_where_a_build_has_examples() {
    let cases =
        [(None, Some(4)), (Some(-4), None), (Some(4), None), (None, Some(-4)), (Some(9), None)];
    for (start, stop) in cases {
        let part = [Index::steps(start, stop, 1)];
        for example in 2..7 {
            decisions::begin_examples(vec![(Dim::symbol("n").unwrap(), example)]);
            let program = Program::build(&[("x", Type::parse("f64[n]").unwrap())], |x| {
                Ok(vec![getitem(&x[0], &part)?])
            });
            let made = decisions::end_examples().made;
            let program = program.unwrap();
            for n in 2..12 {
                if made.iter().all(|made| made.stands(&|_| Some(n)).unwrap()) {
                    let x = Var::new(numbers(&[n]));
                    let found = program.apply(&[&x]).unwrap()[0].to_vec::<f64>().unwrap();
                    let expected = getitem(&x, &part).unwrap().to_vec::<f64>().unwrap();
                    assert_eq!(found, expected, "{part:?} of {n}, built for {example}");
                } else {
                    assert_ne!(n, example);
                }
            }
        }
    }
}

#[test]
fn ends_that_only_the_run_knows() {
    let ends = |k: i64| Tensor::from_vec(vec![k], &[]).unwrap();
    for k in -7..8 {
        let value = |x: &[Var]| Some(End::Value(x[1].clone()));
        for step in [1, 2, -1, -2] {
            let x = Var::new(numbers(&[5]));
            for front in [true, false] {
                let types = ["f64[n]", "i64[]"].map(|ty| Type::parse(ty).unwrap());
                let program = Program::build(&[("x", types[0]), ("k", types[1])], |x| {
                    let (start, stop) = if front { (value(x), None) } else { (None, value(x)) };
                    Ok(vec![getitem(&x[0], &[Index::Slice { start, stop, step }])?])
                });
                let found = program.unwrap().apply(&[&x, &Var::new(ends(k))]).unwrap();
                let part = if front { (Some(k), None) } else { (None, Some(k)) };
                let expected = getitem(&x, &[Index::steps(part.0, part.1, step)]).unwrap();
                let (found, expected) = (found[0].to_vec::<f64>(), expected.to_vec::<f64>());
                assert_eq!(found.unwrap(), expected.unwrap(), "{part:?} in steps of {step}");
            }
        }
    }
}

#[test]
fn rolls_and_pieces_of_symbolic_axes() {
    let n = Whole::from(Dim::symbol("n").unwrap());
    let half = n.floor_div(Whole::Number(2)).unwrap();
    for shift in [-12, -5, -1, 0, 3, 5, 7] {
        symbolic(&["f64[n, 2]"], &[numbers(&[5, 2])], |x| roll(&x[0], &[shift.into()], &[0]));
    }
    let ty = Type::parse("f64[n]").unwrap();
    let rest = n.sub(half).unwrap().dim().unwrap();
    let program = Program::build(&[("x", ty)], |x| {
        let parts = split(&x[0], &[half.dim()?, rest], 0)?;
        Ok(vec![roll(&x[0], &[half], &[0])?, parts[0].clone(), parts[1].clone()])
    });
    let found = program.unwrap().apply(&[&Var::new(numbers(&[5]))]).unwrap();
    let x = numbers(&[5]).to_f64s();
    assert_eq!(found[0].to_vec::<f64>().unwrap(), [x[3], x[4], x[0], x[1], x[2]]);
    assert_eq!(found[1].to_vec::<f64>().unwrap(), x[..2]);
    assert_eq!(found[2].to_vec::<f64>().unwrap(), x[2..]);
}

#[test]
fn indices_with_symbolic_sizes() {
    let x = || numbers(&[4, 3]);
    let one = &["f64[n, 3]"];
    assert_eq!(symbolic(one, &[x()], |x| getitem(&x[0], &[(-1).into()])), [3]);
    assert_eq!(symbolic(one, &[x()], |x| getitem(&x[0], &[(..).into(), 1.into()])), [4]);
    let columns = i64s(&[2, 0, 2], &[3]);
    let key = [Index::ALL, columns.into()];
    assert_eq!(symbolic(one, &[x()], |x| getitem(&x[0], &key)), [4, 3]);
    let pairs = [i64s(&[0, -1], &[2]).into(), i64s(&[1, 2], &[2]).into()];
    assert_eq!(symbolic(one, &[x()], |x| getitem(&x[0], &pairs)), [2]);
    assert_eq!(symbolic(one, &[x()], |x| setitem(&x[0], &pairs, &Var::scalar(2.0))), [4, 3]);
    let two = &["f64[n, 3]", "f64[n]"];
    let column = [Index::ALL, (-1).into()];
    assert_eq!(symbolic(two, &[x(), numbers(&[4])], |x| setitem(&x[0], &column, &x[1])), [4, 3]);
    let rest = [Index::from(1..)];
    let value = numbers(&[3]);
    let types = &["f64[n, 3]", "f64[3]"];
    assert_eq!(symbolic(types, &[x(), value], |x| setitem(&x[0], &rest, &x[1])), [4, 3]);
    let mask = Tensor::from_slice(&[true, false, true, true], &[4]).unwrap();
    let masked = &["f64[n, 3]", "bool[n]"];
    let found =
        symbolic(masked, &[x(), mask.clone()], |x| getitem(&x[0], &[(&x[1]).into(), 0.into()]));
    assert_eq!(found, [3]);
    let found = symbolic(masked, &[x(), mask.clone()], |x| {
        setitem(&x[0], &[(&x[1]).into()], &(getitem(&x[0], &[(&x[1]).into()])? * 2.0))
    });
    assert_eq!(found, [4, 3]);
    let filled = symbolic(masked, &[x(), mask], |x| masked_fill(&x[0], &unsqueeze(&x[1], 1)?, 0.5));
    assert_eq!(filled, [4, 3]);
    let index = Tensor::from_slice(&[1i64, 0, 2, 1], &[4, 1]).unwrap();
    let types = &["f64[n, 3]", "i64[n, 1]"];
    let taken = symbolic(types, &[x(), index.clone()], |x| take_along_axis(&x[0], &x[1], 1));
    assert_eq!(taken, [4, 1]);
    let scattered = symbolic(types, &[x(), index.clone()], |x| {
        scatter(&x[0], 1, &x[1], &getitem(&(&x[0] * 2.0), &[(..).into(), (..1).into()])?)
    });
    assert_eq!(scattered, [4, 3]);
    let nd = Tensor::from_slice(&[0i64, 2, 3, 1], &[2, 2]).unwrap();
    let types = &["f64[n, 3]", "i64[k, 2]"];
    assert_eq!(symbolic(types, &[x(), nd], |x| gather_nd(&x[0], &x[1])), [2]);
}

#[test]
fn shapes_with_symbolic_sizes() {
    let x = || numbers(&[4, 3]);
    let one = &["f64[n, 3]"];
    let check = |sizes: &[usize], f: fn(&Var) -> Result<Var>| {
        assert_eq!(symbolic(one, &[x()], |x| f(&x[0])), sizes);
    };
    check(&[12], |x| reshape(x, &[Dim::REST]));
    check(&[3, 4], |x| reshape(x, &[Dim::size(3), Dim::REST]));
    check(&[12], |x| flatten(x, 0, -1));
    check(&[4, 1, 3], |x| unsqueeze(x, 1));
    check(&[4, 3], |x| squeeze(&unsqueeze(x, 0)?, &[0]));
    check(&[4, 2, 3], |x| stack(&[x, x], 1));
    check(&[4, 3], |x| flip(x, &[]));
    check(&[4, 3], |x| roll(x, &[1.into(), (-1).into()], &[0, 1]));
    check(&[3, 4], |x| rot90(x, 1, &[0, 1]));
    check(&[8, 3], |x| tile(x, &[2.into(), 1.into()]));
    check(&[4, 9], |x| repeat_interleave(x, 3, 1));
    check(&[8, 3], |x| repeat_interleave(x, 2, 0));
    check(&[2, 3, 3], |x| transpose(&unfold_axis(x, 0, 3, 1)?, 1, 2));
    check(&[2, 3], |x| Ok(split(x, &[2.into(), 2.into()], 0)?.swap_remove(1)));
    check(&[4, 3], |x| Ok(chunk(&tile(x, &[2.into(), 1.into()])?, 2, 0)?.swap_remove(1)));
    for mode in [PadMode::Constant, PadMode::Reflect, PadMode::Replicate, PadMode::Circular] {
        let options = PadOptions::default().mode(mode).value(0.5);
        let padded = symbolic(one, &[x()], |x| pad(&x[0], &[2, 1], &[1, 0], options.clone()));
        assert_eq!(padded, [7, 4]);
    }
    let square = symbolic(&["f64[n, n]"], &[numbers(&[3, 3])], |x| diagonal(&x[0], 1, 0, 1));
    assert_eq!(square, [2]);
    assert_eq!(symbolic(&["f64[n]"], &[numbers(&[3])], |x| diag(&x[0], -1)), [4, 4]);
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, text: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(text) && error.contains("indexing.rs"), "{error}");
}

#[test]
fn what_is_refused_is_named() {
    let x = Var::new(numbers(&[2, 3]));
    let scalar = Var::scalar(1.0);
    refused(getitem(&x, &[2.into()]), "index 2 is out of range for axis 0 of size 2");
    refused(getitem(&x, &[0.into(), (-4).into()]), "index -4 is out of range for axis 1 of size 3");
    let far = i64s(&[0, 3], &[2]);
    let key = [Index::NewAxis, Index::ALL, far.into()];
    refused(getitem(&x, &key), "index 3 is out of range for axis 1 of size 3");
    refused(getitem(&x, &[0.into(), 0.into(), 0.into()]), "too long for f64[2, 3]");
    refused(getitem(&x, &[Index::Ellipsis, Index::Ellipsis]), "at most one ellipsis");
    refused(getitem(&x, &[Index::steps(None, None, 0)]), "must not be zero");
    refused(getitem(&x, &[Var::of(&[true], &[1]).unwrap().into()]), "does not fit the axes");
    refused(getitem(&x, &[scalar.clone().into()]), "positions are i64");
    refused(setitem(&x, &[0.into()], &Var::new(numbers(&[2]))), "does not broadcast");
    refused(setitem(&x, &[0.into()], &Var::new(numbers(&[2, 3]))), "does not broadcast");
    refused(reshape(&x, &[Dim::REST, Dim::REST]), "only one size");
    refused(reshape(&x, &[Dim::REST, Dim::size(4)]), "do not divide by 4");
    refused(squeeze(&x, &[0]), "axis 0 has the size 2, not 1");
    refused(stack(&[&x, &scalar], 0), "have different sizes");
    refused(stack(&[], 0), "nothing to stack");
    refused(split(&x, &[1.into(), 2.into()], 0), "do not add up to 2");
    refused(flatten(&x, 1, 0), "comes after");
    refused(transpose(&x, 0, 2), "out of range");
    refused(movedim(&x, &[0], &[0, 1]), "as many axes");
    refused(roll(&x, &[1.into(), 2.into()], &[0]), "2 shifts were given for 1 axes");
    refused(rot90(&x, 1, &[0]), "two axes");
    refused(diag(&Var::new(numbers(&[1, 1, 1])), 0), "a vector or a matrix");
    let mode = |mode| PadOptions::default().mode(mode);
    refused(pad(&x, &[2], &[0, 1], mode(PadMode::Constant)), "not as many");
    refused(pad(&x, &[1, 1, 1], &[1, 1, 1], mode(PadMode::Constant)), "for 3 axes");
    refused(pad(&x, &[3], &[0], mode(PadMode::Reflect)), "at most 2");
    refused(pad(&x, &[-2], &[-2], mode(PadMode::Constant)), "cut more");
    refused(take_along_axis(&x, &i64s(&[0], &[1]), 1), "must have the same number of axes");
    refused(take_along_axis(&x, &i64s(&[5], &[1, 1]), 1), "index 5 is out of range for axis 1");
    refused(scatter(&x, 1, &i64s(&[0, 0], &[2, 1]), &x), "do not broadcast");
    refused(gather_nd(&x, &i64s(&[0, 0, 0], &[1, 3])), "would name 3 axes");
    refused(masked_fill(&x, &x, 0.0), "a mask is bool");
    refused(nonzero(&scalar), "no axes");
    refused(index_select(&x, 0, &i64s(&[0], &[])), "one axis here");
}

#[test]
fn a_run_checks_what_a_program_assumes() -> Result<()> {
    let ty = Type::parse("f64[n]")?;
    let program = Program::build(&[("x", ty)], |x| Ok(vec![getitem(&x[0], &[(..3).into()])?]))?;
    assert!(program.apply(&[&Var::new(numbers(&[3]))]).is_ok());
    assert!(program.apply(&[&Var::new(numbers(&[2]))]).is_err());
    Ok(())
}

#[test]
fn views_do_not_copy() -> Result<()> {
    let x = Var::new(numbers(&[4, 4]));
    let shares = |y: Result<Var>| -> Result<bool> { Ok(y?.tensor()?.shares_storage(x.tensor()?)) };
    assert!(shares(flip(&x, &[]))?);
    assert!(shares(transpose(&x, 0, 1))?);
    assert!(shares(diagonal(&x, 1, 0, 1))?);
    assert!(shares(unfold_axis(&x, 0, 2, 1))?);
    assert!(shares(rot90(&x, 1, &[0, 1]))?);
    assert!(shares(broadcast_to(&x, &[Dim::size(3), Dim::REST, Dim::REST]))?);
    assert!(shares(Ok(unbind(&x, 0)?.remove(1)))?);
    let key = [Index::steps(None, None, -1), Index::NewAxis, (1..3).into()];
    assert!(shares(getitem(&x, &key))?);
    Ok(())
}
