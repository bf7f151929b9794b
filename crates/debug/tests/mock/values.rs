//! What the mock shows, and the few expressions that it knows.

use fluvial_core::{DType, Error, Result, Tensor, Value};
use fluvial_debug::target::*;

use super::model::Model;

impl Model {
    pub fn scopes(&self, frame: usize) -> Result<Vec<Scope>> {
        self.frame(frame)?;
        let scope = |kind, count, expensive| Scope { kind, count, expensive };
        Ok(vec![
            scope(ScopeKind::Inputs, Some(2), false),
            scope(ScopeKind::Output, None, false),
            scope(ScopeKind::Parameters, Some(1), false),
            scope(ScopeKind::Loop, Some(2), false),
            scope(ScopeKind::Live, None, true),
        ])
    }

    pub fn variables(&self, frame: usize, scope: ScopeKind) -> Result<Vec<Variable>> {
        self.frame(frame)?;
        let (names, editable): (&[&str], bool) = match scope {
            ScopeKind::Inputs => (&["x", "w"], true),
            ScopeKind::Output => (&["h2"], false),
            ScopeKind::Parameters => (&["w"], true),
            ScopeKind::Loop => (&["step", "loss"], false),
            ScopeKind::Live => (&["x", "w", "h", "h2", "loss", "big"], true),
            ScopeKind::Variables | ScopeKind::Gradients | ScopeKind::Optimizer => (&[], false),
        };
        let variable = |name: &&str| {
            let note = (*name == "loss").then(|| "of the last step".to_string());
            Ok(Variable { name: name.to_string(), value: self.value(name)?.into(), editable, note })
        };
        names.iter().map(variable).collect()
    }

    fn frame(&self, frame: usize) -> Result<()> {
        let n_frames = self.stop.as_ref().map_or(0, |stop| stop.frames.len());
        if frame < n_frames {
            Ok(())
        } else {
            Err(Error::index(format!("there is no frame {frame}")))
        }
    }

    /// The value of a name.
    fn value(&self, name: &str) -> Result<Tensor> {
        if let Some(edited) = self.edited.get(name) {
            return Ok(edited.clone());
        }
        let step = self.step() as f32;
        let count = |n: usize| (0..n).map(|i| i as f32).collect::<Vec<f32>>();
        match name {
            "x" => Tensor::from_vec(count(1200), &[300, 4]),
            "w" => Tensor::from_vec(count(12).iter().map(|i| i - 0.5 * step).collect(), &[4, 3]),
            "h" => Tensor::from_vec(count(900), &[300, 3]),
            "h2" => {
                let mut values = count(900);
                values[7] = if self.has_nan() { f32::NAN } else { 7.0 };
                Tensor::from_vec(values, &[300, 3])
            }
            "big" => Tensor::zeros(DType::I64, &[self.script.n_rows, 2]),
            "loss" => Ok(Tensor::scalar(1.0 / (step + 1.0))),
            "step" => Ok(Tensor::scalar(self.step() as i64)),
            _ => Err(Error::argument(format!("nothing is named `{name}`"))),
        }
    }

    /// The value of a name, an element or a number.
    fn term(&self, text: &str) -> Result<Tensor> {
        let text = text.trim();
        if let Ok(number) = text.parse::<f64>() {
            return Ok(Tensor::scalar(number));
        }
        let Some(open) = text.strip_suffix(']') else { return self.value(text) };
        let (name, index) = open.split_once('[').ok_or_else(|| Error::parse("a `[` is missing"))?;
        let mut tensor = self.value(name)?;
        for number in index.split(',') {
            let number =
                number.trim().parse().map_err(|_| Error::parse("an index is not a number"))?;
            if tensor.rank() == 0 {
                return Err(Error::index("too many indices"));
            }
            tensor = tensor.index(0, number)?;
        }
        Ok(tensor)
    }

    /// Whether a comparison holds.
    pub fn holds(&self, text: &str) -> bool {
        matches!(self.compare(text), Ok(Some(true)))
    }

    fn compare(&self, text: &str) -> Result<Option<bool>> {
        for (sign, compare) in
            [("==", f64::eq as fn(&f64, &f64) -> bool), (">", f64::gt), ("<", f64::lt)]
        {
            if let Some((a, b)) = text.split_once(sign) {
                let (a, b) = (self.term(a)?.get_f64(&[])?, self.term(b)?.get_f64(&[])?);
                return Ok(Some(compare(&a, &b)));
            }
        }
        Ok(None)
    }

    pub fn evaluate(&mut self, text: &str) -> Result<Evaluated> {
        if let Some(holds) = self.compare(text)? {
            return Ok(Evaluated::Value(Tensor::scalar(holds).into()));
        }
        let Some((name, value)) = text.split_once('=') else {
            return Ok(Evaluated::Value(Value::from(self.term(text)?)));
        };
        let name = name.trim();
        let (name, index) = match name.strip_suffix(']').and_then(|open| open.split_once('[')) {
            None => (name, Vec::new()),
            Some((name, index)) => {
                let index: Result<Vec<usize>, _> =
                    index.split(',').map(|number| number.trim().parse()).collect();
                (name, index.map_err(|_| Error::parse("an index is not a number"))?)
            }
        };
        self.edit(name, &index, value)?;
        Ok(Evaluated::Text(format!("{name} was edited")))
    }

    pub fn edit(&mut self, name: &str, index: &[usize], expression: &str) -> Result<Tensor> {
        let old = self.value(name)?;
        let expression = expression.trim();
        let new = self.term(expression)?.get_f64(&[])?;
        let mut values = old.to_f64s();
        if index.is_empty() {
            values.fill(new);
        } else if index.len() != old.rank() || index.iter().zip(old.dims()).any(|(i, n)| i >= n) {
            return Err(Error::index(format!("{index:?} is not an element of {}", old.ty())));
        } else {
            let at = index.iter().zip(old.dims()).fold(0, |at, (i, n)| at * n + i);
            values[at] = new;
        }
        let tensor = Tensor::from_f64s(old.dtype(), &values, old.dims())?;
        self.edited.insert(name.to_string(), tensor.clone());
        self.edits.push(format!("step {}: {name}{index:?} = {expression}", self.step()));
        if index.is_empty() { Ok(tensor) } else { Ok(Tensor::scalar(new as f32)) }
    }
}
