//! Functions against golden files: inputs, outputs and gradients that PyTorch, NumPy or SciPy
//! computed. The scripts in `golden/make` write the files.

use fluvial_core::{DType, GradOptions, Result, Tensor, Value, Var, vjp};
use serde_json::Value as Json;

use crate::check::{Check, Context, Failure, Tolerance, close, ensure};
use crate::modes::Modes;

/// The check of a function against all its cases in the golden file of an area.
///
/// Outputs and gradients in `f64` agree with the file; the function gives the same in both modes;
/// and in `f32` it gives what it gives in `f64`, but for rounding.
pub struct Golden {
    area: &'static str,
    function: &'static str,
    f64_tolerance: Tolerance,
    f32_tolerance: Tolerance,
    modes_tolerance: Tolerance,
    modes: bool,
}

/// One line of a golden file.
pub struct Case {
    attributes: Json,
    inputs: Vec<Option<Tensor>>,
    outputs: Vec<Tensor>,
    gradients: Vec<Option<Tensor>>,
}

/// What a function under test is given: the inputs, and the attributes of the case.
pub struct Given<'a> {
    attributes: &'a Json,
    inputs: Vec<Option<Var>>,
}

impl Golden {
    /// The cases of this function in `golden/<area>.json`.
    pub fn new(area: &'static str, function: &'static str) -> Golden {
        Golden {
            area,
            function,
            f64_tolerance: Tolerance { relative: 1e-11, absolute: 1e-12 },
            f32_tolerance: Tolerance { relative: 2e-5, absolute: 2e-5 },
            modes_tolerance: Tolerance::EXACT,
            modes: true,
        }
    }

    /// With another tolerance in `f64`.
    pub fn within(mut self, tolerance: Tolerance) -> Golden {
        self.f64_tolerance = tolerance;
        self
    }

    /// With another tolerance in `f32`.
    pub fn f32_within(mut self, tolerance: Tolerance) -> Golden {
        self.f32_tolerance = tolerance;
        self
    }

    /// With gradients that may differ between the modes by this much, since loops add in another
    /// order.
    pub fn modes_within(mut self, tolerance: Tolerance) -> Golden {
        self.modes_tolerance = tolerance;
        self
    }

    /// Imperatively only, for functions that cannot be built into a program.
    pub fn imperative_only(mut self) -> Golden {
        self.modes = false;
        self
    }

    /// Checks the function on every case, of which there must be at least `least`.
    #[track_caller]
    pub fn check(&self, least: usize, f: impl Fn(&Given<'_>) -> Result<Vec<Var>>) {
        let cases = cases(self.area, self.function);
        let (area, function) = (self.area, self.function);
        assert!(cases.len() >= least, "{area}.json has {} cases of `{function}`", cases.len());
        let mut failures = Vec::new();
        for (i, case) in cases.iter().enumerate() {
            if let Err(failure) = self.check_case(case, &f) {
                failures.push(format!("case {i} {}: {failure}", case.attributes));
            }
        }
        let shown = failures[..failures.len().min(5)].join("\n");
        assert!(failures.is_empty(), "{function}: {} failures\n{shown}", failures.len());
    }

    fn check_case(&self, case: &Case, f: &dyn Fn(&Given<'_>) -> Result<Vec<Var>>) -> Check {
        self.check_numbers(case, f).context("f64")?;
        let narrow = case.with_floats(DType::F32)?;
        let single = Golden { f64_tolerance: self.f32_tolerance, ..*self };
        single.check_numbers(&narrow, f).context("f32")?;
        if !self.modes {
            return Ok(());
        }
        let present: Vec<Value> = case.inputs.iter().flatten().cloned().map(Value::from).collect();
        let modes = Modes::of(|vars| f(&case.given(vars)))
            .order(1)
            .without_differences()
            .without_replays()
            .first_order(self.modes_tolerance);
        modes.try_check(&present).map(drop)
    }

    /// Checks outputs and gradients against the file, in the element types that the case has.
    fn check_numbers(&self, case: &Case, f: &dyn Fn(&Given<'_>) -> Result<Vec<Var>>) -> Check {
        let mut vars = Vec::new();
        for tensor in case.inputs.iter().flatten() {
            let var = Var::new(tensor.clone());
            vars.push(if tensor.dtype().is_float() { var.track()? } else { var });
        }
        let outputs = f(&case.given(&vars))?;
        ensure(outputs.len() == case.outputs.len(), || {
            format!("{} outputs, expected {}", outputs.len(), case.outputs.len())
        })?;
        for (k, (found, expected)) in outputs.iter().zip(&case.outputs).enumerate() {
            let expected = expected.clone().into();
            close(found.value()?, &expected, self.f64_tolerance).context(format!("output {k}"))?;
        }
        if case.gradients.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut floats = Vec::new();
        for (k, output) in outputs.iter().enumerate().filter(|(_, y)| y.ty().is_float()) {
            floats.push((output, Var::new(weights(k, output.dtype(), output.tensor()?.dims())?)));
        }
        let results: Vec<&Var> = floats.iter().map(|(output, _)| *output).collect();
        let seeds: Vec<Option<&Var>> = floats.iter().map(|(_, seed)| Some(seed)).collect();
        let given = case.given(&vars);
        for (i, expected) in case.gradients.iter().enumerate() {
            let (Some(expected), Some(x)) = (expected, &given.inputs[i]) else { continue };
            let options = GradOptions { retain_graph: true, ..GradOptions::default() };
            let found = vjp(&results, &seeds, &[x], options)?.remove(0);
            let found = match &found {
                Some(found) => found.value()?.clone(),
                None => Tensor::zeros(x.dtype(), expected.dims())?.into(),
            };
            close(&found, &expected.clone().into(), self.f64_tolerance)
                .context(format!("gradient of input {i}"))?;
        }
        Ok(())
    }
}

impl Case {
    fn given<'a>(&'a self, vars: &[Var]) -> Given<'a> {
        let mut vars = vars.iter().cloned();
        let inputs = self.inputs.iter().map(|input| input.as_ref().and_then(|_| vars.next()));
        Given { attributes: &self.attributes, inputs: inputs.collect() }
    }

    fn with_floats(&self, dtype: DType) -> Result<Case> {
        let cast = |tensor: &Tensor| match tensor.dtype() {
            DType::F64 => tensor.cast(dtype),
            _ => Ok(tensor.clone()),
        };
        let optional = |tensor: &Option<Tensor>| tensor.as_ref().map(cast).transpose();
        Ok(Case {
            attributes: self.attributes.clone(),
            inputs: self.inputs.iter().map(optional).collect::<Result<_>>()?,
            outputs: self.outputs.iter().map(cast).collect::<Result<_>>()?,
            gradients: self.gradients.iter().map(optional).collect::<Result<_>>()?,
        })
    }
}

impl Given<'_> {
    /// Input `i`.
    #[track_caller]
    pub fn x(&self, i: usize) -> &Var {
        self.inputs[i].as_ref().expect("the case has this input")
    }

    /// Input `i`, which a case may lack.
    pub fn option(&self, i: usize) -> Option<&Var> {
        self.inputs.get(i).and_then(Option::as_ref)
    }

    /// All inputs.
    pub fn all(&self) -> Vec<&Var> {
        self.inputs.iter().flatten().collect()
    }

    /// Whether the case has this attribute, other than null.
    pub fn has(&self, name: &str) -> bool {
        self.attributes.get(name).is_some_and(|value| !value.is_null())
    }

    /// An attribute.
    #[track_caller]
    fn attribute(&self, name: &str) -> &Json {
        self.attributes.get(name).unwrap_or_else(|| panic!("the case has no attribute `{name}`"))
    }

    /// An integer.
    #[track_caller]
    pub fn int(&self, name: &str) -> i64 {
        self.attribute(name).as_i64().expect("an integer")
    }

    /// A size.
    #[track_caller]
    pub fn size(&self, name: &str) -> usize {
        usize::try_from(self.int(name)).expect("a size")
    }

    /// A number.
    #[track_caller]
    pub fn float(&self, name: &str) -> f64 {
        number(self.attribute(name))
    }

    /// A number, which a case may lack.
    pub fn optional_float(&self, name: &str) -> Option<f64> {
        self.has(name).then(|| self.float(name))
    }

    /// True or false; false if the case does not say.
    pub fn flag(&self, name: &str) -> bool {
        self.attributes.get(name).and_then(Json::as_bool).unwrap_or(false)
    }

    /// A text.
    #[track_caller]
    pub fn text(&self, name: &str) -> &str {
        self.attribute(name).as_str().expect("a text")
    }

    /// Integers.
    #[track_caller]
    pub fn ints(&self, name: &str) -> Vec<i64> {
        let items = self.attribute(name).as_array().expect("a list");
        items.iter().map(|item| item.as_i64().expect("an integer")).collect()
    }

    /// Sizes.
    #[track_caller]
    pub fn sizes(&self, name: &str) -> Vec<usize> {
        let sizes = self.ints(name).into_iter();
        sizes.map(|size| usize::try_from(size).expect("a size")).collect()
    }

    /// Numbers.
    #[track_caller]
    pub fn floats(&self, name: &str) -> Vec<f64> {
        self.attribute(name).as_array().expect("a list").iter().map(number).collect()
    }

    /// The attributes inside an attribute.
    #[track_caller]
    pub fn nested(&self, name: &str) -> Given<'_> {
        Given { attributes: self.attribute(name), inputs: Vec::new() }
    }

    /// An attribute of any form.
    #[track_caller]
    pub fn json(&self, name: &str) -> &Json {
        self.attribute(name)
    }
}

/// The cases of a function in the file of an area.
#[track_caller]
fn cases(area: &str, function: &str) -> Vec<Case> {
    let path = format!("{}/golden/{area}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{path}: {error}; `make golden` writes it"));
    let wanted = format!("{{\"function\":\"{function}\",");
    let lines = text.lines().filter(|line| line.starts_with(&wanted));
    lines.map(|line| case(line).unwrap_or_else(|failure| panic!("{path}: {failure}"))).collect()
}

fn case(line: &str) -> Check<Case> {
    let mut json: Json =
        serde_json::from_str(line).map_err(|error| Failure::new(error.to_string()))?;
    let mut tensors = |name: &str| -> Check<Vec<Option<Tensor>>> {
        let items = json[name].take();
        items.as_array().into_iter().flatten().map(tensor).collect()
    };
    let (inputs, gradients) = (tensors("inputs")?, tensors("gradients")?);
    let outputs = tensors("outputs")?.into_iter().flatten().collect();
    Ok(Case { attributes: json["attributes"].take(), inputs, outputs, gradients })
}

/// A tensor as `golden.py` writes it: element type, sizes, elements.
pub fn tensor(json: &Json) -> Check<Option<Tensor>> {
    if json.is_null() {
        return Ok(None);
    }
    let dims: Vec<usize> =
        json[1].as_array().into_iter().flatten().map(|dim| number(dim) as usize).collect();
    let items = json[2].as_array().into_iter().flatten();
    let found = match json[0].as_str().and_then(DType::parse) {
        Some(DType::I64) => {
            Tensor::from_vec(items.map(|item| item.as_i64().unwrap_or(0)).collect(), &dims)?
        }
        Some(DType::Bool) => {
            Tensor::from_vec(items.map(|item| item == &Json::Bool(true)).collect(), &dims)?
        }
        Some(dtype) => Tensor::from_f64s(dtype, &items.map(number).collect::<Vec<_>>(), &dims)?,
        None => return Err(Failure::new(format!("{} is not an element type", json[0]))),
    };
    Ok(Some(found))
}

fn number(json: &Json) -> f64 {
    match json {
        Json::String(word) => word.parse().expect("nan, inf or -inf"),
        _ => json.as_f64().expect("a number"),
    }
}

/// The cotangent of output `k`, as `golden.py` makes it.
pub fn weights(k: usize, dtype: DType, dims: &[usize]) -> Result<Tensor> {
    let element = |i: usize| (((i * 7 + 3 * k) % 11) as f64 - 5.0) / 4.0;
    let elements: Vec<f64> = (0..dims.iter().product()).map(element).collect();
    Tensor::from_f64s(dtype, &elements, dims)
}
