//! The finished body: a checked list of instructions and what the runs need to know of it.

use fluvial_tensor::{DType, Error, Kind, Result};

use super::build::{Builder, MAX_INSTS, S};
use super::compute::is_defined;
use super::inst::{Binary, Inst, Unary};

/// An elementwise function of `n_inputs` tensors and `n_params` numbers.
///
/// The instructions are in order of computation. Mostly there is one result, the last of them; several are
/// made by [`Body::from_parts`]. Equal instructions are stored once and all contribute to a result, so bodies
/// that were written alike are equal.
///
/// A body of more than 65,535 instructions cannot be represented: it comes out without any
/// instruction, and running it is an error.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Body {
    n_inputs: u8,
    n_params: u8,
    insts: Vec<Inst>,
    /// The instructions that compute the results.
    results: Vec<u16>,
    plan: Plan,
}

/// What is worked out once per body.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Plan {
    /// The scratch slot of each value. A slot is used again once its value is no longer needed.
    /// Constants and parameters need one only as the result.
    pub(crate) slots: Vec<u16>,
    /// The number of slots.
    pub(crate) n_slots: usize,
    /// The first instruction that has the time to ask for the next tiles of the inputs: one that is slow, or
    /// any if none is.
    pub(crate) asks_from: usize,
    /// The first instruction that floats do not have.
    not_for_floats: Option<u16>,
    /// The first instruction that integers do not have.
    not_for_ints: Option<u16>,
    /// The first instruction that complex numbers do not have.
    not_for_complex: Option<u16>,
}

impl Body {
    /// A body of one input.
    pub fn unary(f: for<'a> fn(S<'a>) -> S<'a>) -> Body {
        Body::build(1, 0, |x, _| f(x[0]))
    }

    /// A body of two inputs.
    pub fn binary(f: for<'a> fn(S<'a>, S<'a>) -> S<'a>) -> Body {
        Body::build(2, 0, |x, _| f(x[0], x[1]))
    }

    /// A body of three inputs.
    pub fn ternary(f: for<'a> fn(S<'a>, S<'a>, S<'a>) -> S<'a>) -> Body {
        Body::build(3, 0, |x, _| f(x[0], x[1], x[2]))
    }

    /// A body of any number of inputs and parameters; `f` gets their handles in order.
    ///
    /// ```
    /// use fluvial_kernels::Body;
    ///
    /// let axpy = Body::build(2, 1, |x, p| p[0] * x[0] + x[1]);
    /// assert_eq!(axpy.eval_f64(&[3.0, 1.0], &[2.0]), 7.0);
    /// ```
    pub fn build(
        n_inputs: u8,
        n_params: u8,
        f: impl for<'a> FnOnce(&[S<'a>], &[S<'a>]) -> S<'a>,
    ) -> Body {
        let builder = Builder::default();
        let result = {
            let inputs: Vec<S> = (0..n_inputs).map(|k| builder.handle(Inst::Input(k))).collect();
            let params: Vec<S> = (0..n_params).map(|k| builder.handle(Inst::Param(k))).collect();
            f(&inputs, &params).index()
        };
        Body::assemble(n_inputs, n_params, builder.finish(result).unwrap_or_default())
    }

    /// The body of a list of instructions from elsewhere, for example a file. Faults are errors; equal
    /// and unused instructions are removed.
    pub fn from_insts(n_inputs: u8, n_params: u8, insts: &[Inst]) -> Result<Body> {
        Body::from_parts(n_inputs, n_params, insts, &[insts.len().saturating_sub(1) as u16])
    }

    /// The body of a list of instructions with several results, given by the numbers of their
    /// instructions.
    pub fn from_parts(n_inputs: u8, n_params: u8, insts: &[Inst], results: &[u16]) -> Result<Body> {
        if insts.is_empty() || insts.len() > MAX_INSTS {
            let count = insts.len();
            return Err(Error::argument(format!(
                "a scalar body has 1 to {MAX_INSTS} instructions, not {count}"
            )));
        }
        let builder = Builder::default();
        let mut renumbered: Vec<u16> = Vec::with_capacity(insts.len());
        for (index, &inst) in insts.iter().enumerate() {
            let fault = match inst {
                Inst::Input(k) if k >= n_inputs => Some(format!("there is no input {k}")),
                Inst::Param(k) if k >= n_params => Some(format!("there is no parameter {k}")),
                _ => inst
                    .operands()
                    .find(|&operand| operand as usize >= index)
                    .map(|operand| format!("operand {operand} is not an earlier value")),
            };
            if let Some(fault) = fault {
                return Err(Error::argument(format!(
                    "instruction {index} of a scalar body: {fault}"
                )));
            }
            renumbered
                .push(builder.push(inst.map_operands(|operand| renumbered[operand as usize])));
        }
        let results: Option<Vec<u16>> =
            results.iter().map(|&result| renumbered.get(result as usize).copied()).collect();
        let Some(results) = results.filter(|results| !results.is_empty()) else {
            return Err(Error::argument("a result of a scalar body is not one of its values"));
        };
        let (insts, results) = builder.finish_many(&results).unwrap_or_default();
        let plan = Plan::new(&insts, &results);
        Ok(Body { n_inputs, n_params, insts, results, plan })
    }

    /// The body of a list that is already free of equal and unused instructions.
    pub(crate) fn assemble(n_inputs: u8, n_params: u8, insts: Vec<Inst>) -> Body {
        let results: Vec<u16> =
            insts.len().checked_sub(1).map(|last| last as u16).into_iter().collect();
        let plan = Plan::new(&insts, &results);
        Body { n_inputs, n_params, insts, results, plan }
    }

    /// The numbers of the instructions that compute the results.
    pub fn results(&self) -> &[u16] {
        &self.results
    }

    /// The number of tensors the body takes.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs as usize
    }

    /// The number of parameters the body takes.
    pub fn n_params(&self) -> usize {
        self.n_params as usize
    }

    /// The instructions.
    pub fn insts(&self) -> &[Inst] {
        &self.insts
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// A rough price per element, in units of one addition.
    pub fn cost_hint(&self) -> u32 {
        self.insts.iter().map(|&inst| cost(inst)).sum()
    }

    /// Whether the body can run with these counts in the compute dtype.
    pub fn check(&self, n_inputs: usize, n_params: usize, compute: DType) -> Result<()> {
        if n_inputs != self.n_inputs() || n_params != self.n_params() {
            return Err(self.arity_error(n_inputs, n_params));
        }
        let missing = match compute.kind() {
            Kind::Float => self.plan.not_for_floats,
            Kind::Complex => self.plan.not_for_complex,
            _ => self.plan.not_for_ints,
        };
        if missing.is_some() || self.insts.is_empty() || compute.compute() != compute {
            return Err(self.compute_error(missing, compute));
        }
        Ok(())
    }

    #[cold]
    fn arity_error(&self, n_inputs: usize, n_params: usize) -> Error {
        Error::new(
            fluvial_tensor::ErrorKind::Arity,
            format!(
                "a scalar body of {} inputs and {} parameters got {n_inputs} and {n_params}",
                self.n_inputs, self.n_params
            ),
        )
    }

    #[cold]
    fn compute_error(&self, missing: Option<u16>, compute: DType) -> Error {
        if self.insts.is_empty() {
            return Error::argument(format!(
                "a scalar body has more than {MAX_INSTS} instructions"
            ));
        }
        let name = match missing.map(|index| self.insts[index as usize]) {
            Some(Inst::Unary(op, _)) => op.name(),
            Some(Inst::Binary(op, ..)) => op.name(),
            _ => {
                return Error::dtype(format!("a scalar body cannot compute in {}", compute.name()));
            }
        };
        Error::dtype(format!("{name} is not defined for {}", compute.name()))
    }
}

impl Plan {
    fn new(insts: &[Inst], results: &[u16]) -> Plan {
        let mut last_use = vec![0; insts.len()];
        for (index, inst) in insts.iter().enumerate() {
            inst.operands().for_each(|operand| last_use[operand as usize] = index);
        }
        // Results are needed until the tile is done.
        results.iter().for_each(|&result| last_use[result as usize] = insts.len());
        let is_uniform = |index: usize| matches!(insts[index], Inst::Const(_) | Inst::Param(_));
        let mut slots = Vec::with_capacity(insts.len());
        let mut n_slots = 0;
        let mut free: Vec<u16> = Vec::new();
        for (index, inst) in insts.iter().enumerate() {
            if is_uniform(index) && !results.contains(&(index as u16)) {
                slots.push(0);
                continue;
            }
            slots.push(free.pop().unwrap_or_else(|| {
                n_slots += 1;
                (n_slots - 1) as u16
            }));
            let mut dying: Vec<u16> = inst.operands().collect();
            dying.sort_unstable();
            dying.dedup();
            dying.retain(|&operand| {
                last_use[operand as usize] == index && !is_uniform(operand as usize)
            });
            free.extend(dying.iter().map(|&operand| slots[operand as usize]));
        }
        let first_missing = |compute: DType| {
            let missing = insts.iter().position(|&inst| !is_defined(inst, compute));
            missing.map(|index| index as u16)
        };
        Plan {
            slots,
            n_slots,
            asks_from: insts.iter().position(|&inst| cost(inst) >= 10).unwrap_or(0),
            not_for_floats: first_missing(DType::F32),
            not_for_ints: first_missing(DType::I64),
            not_for_complex: first_missing(DType::C128),
        }
    }
}

/// The price of one instruction in units of one addition.
fn cost(inst: Inst) -> u32 {
    match inst {
        Inst::Input(_) | Inst::Param(_) | Inst::Const(_) => 0,
        Inst::Unary(Unary::Sqrt | Unary::Rsqrt | Unary::Recip, _) => 4,
        Inst::Unary(op, _) if op as u8 > Unary::Sqrt as u8 && op as u8 <= Unary::Angle as u8 => 20,
        Inst::Binary(Binary::Div, ..) => 4,
        Inst::Binary(Binary::Rem | Binary::FloorDiv, ..) => 10,
        Inst::Binary(Binary::Pow | Binary::Atan2 | Binary::Hypot, ..) => 30,
        Inst::Binary(Binary::LogAddExp | Binary::Softplus | Binary::Polygamma, ..) => 40,
        Inst::Unary(..) | Inst::Binary(..) | Inst::Select(..) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_insts_refuses_faults_and_normalises() {
        let add = |a, b| Inst::Binary(Binary::Add, a, b);
        for (insts, message) in [
            (vec![], "a scalar body has 1 to 65535 instructions, not 0"),
            (vec![Inst::Input(1)], "instruction 0 of a scalar body: there is no input 1"),
            (vec![Inst::Param(0)], "instruction 0 of a scalar body: there is no parameter 0"),
            (
                vec![Inst::Input(0), add(0, 1)],
                "instruction 1 of a scalar body: operand 1 is not an earlier value",
            ),
        ] {
            assert_eq!(Body::from_insts(1, 0, &insts).unwrap_err().message(), message);
        }
        let twice = [Inst::Input(0), Inst::Const(1.0), Inst::Input(0), add(0, 2)];
        assert_eq!(Body::from_insts(1, 0, &twice).unwrap(), Body::unary(|x| x + x));
        let body = Body::unary(|x| x.tanh() * 0.5 + 0.5);
        assert_eq!(Body::from_insts(1, 0, body.insts()).unwrap(), body);
    }

    #[test]
    fn slots_are_reused_but_never_while_their_value_is_needed() {
        let body = Body::unary(|x| {
            let chain = (0..10).fold(x, |value, _| value.sin());
            chain * x + x.cos()
        });
        assert!(body.plan.n_slots <= 4, "{}", body.plan.n_slots);
        let mut holder = vec![None; body.plan.n_slots];
        for (index, inst) in body.insts.iter().enumerate() {
            let slot = body.plan.slots[index] as usize;
            for operand in inst.operands() {
                let operand_slot = body.plan.slots[operand as usize] as usize;
                assert_eq!(holder[operand_slot], Some(operand));
                assert_ne!(operand_slot, slot);
            }
            holder[slot] = Some(index as u16);
        }
    }

    #[test]
    fn checks_name_the_fault() {
        let exp = Body::unary(|x| x.exp());
        let error = exp.check(1, 0, DType::I32).unwrap_err();
        assert_eq!(error.message(), "exp is not defined for i32");
        let error = Body::unary(|x| x.bit_not()).check(1, 0, DType::F64).unwrap_err();
        assert_eq!(error.message(), "bit_not is not defined for f64");
        let error = exp.check(2, 0, DType::F32).unwrap_err();
        assert_eq!(error.message(), "a scalar body of 1 inputs and 0 parameters got 2 and 0");
        assert!(exp.check(1, 0, DType::F16).is_err());
        assert!(exp.check(1, 0, DType::F32).is_ok());
    }

    #[test]
    fn bodies_live_in_statics() {
        static BODY: std::sync::OnceLock<Body> = std::sync::OnceLock::new();
        assert_eq!(BODY.get_or_init(|| Body::unary(|x| x + 1.0)).cost_hint(), 1);
    }
}
