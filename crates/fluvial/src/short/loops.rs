//! The loops of the short form: they see what stands around them, and carry the states that they change by themselves.

use fluvial_core::text::short::{ShortBlock, ShortCall};
use fluvial_core::{DType, Error, Sizes, Type, Var, new_symbols, trace_block_at};
use fluvial_data::Reader;
use fluvial_ops::{add, for_each_of, lt, while_of};

use super::{Builder, Placed, statements};

impl<'a> Builder<'a> {
    /// A statement with a block behind it.
    pub(super) fn loop_of(
        &mut self,
        call: &'a ShortCall,
        block: &'a ShortBlock,
    ) -> Placed<Vec<Var>> {
        match call.op.as_str() {
            "for_each" => self.for_each(call, block),
            "repeat" => self.repeat(call, block),
            "while" => self.while_loop(call, block),
            op => Err((
                call.start,
                Error::program(format!("`{op}` takes no block"))
                    .remedy("`for_each`, `repeat` and `while` do"),
            )),
        }
    }

    /// `for_each{reader="…", epochs=n}(initial values) (fields, carried values) { … return carried values }`.
    fn for_each(&mut self, call: &'a ShortCall, block: &'a ShortBlock) -> Placed<Vec<Var>> {
        let placed = |error: Error| (call.start, error);
        call.attrs.only("for_each", &["reader", "epochs"]).map_err(placed)?;
        let Some(reader) = statements::text(call, "reader") else {
            let error = Error::argument("`for_each` needs `reader`, a text")
                .remedy("such as `reader=\"csv(\\\"points.csv\\\").batch(4)\"`");
            return Err(placed(error));
        };
        let reader: Reader = reader.parse().map_err(placed)?;
        let epochs = call.whole("epochs").map_err(placed)?.unwrap_or(1);
        let epochs = usize::try_from(epochs)
            .map_err(|_| placed(Error::argument("`epochs` must not be negative")))?;
        let n_fields = block.params.len().checked_sub(call.operands.len()).ok_or_else(|| {
            let what = "the block takes less than the values that the loop begins with";
            placed(Error::argument(what).remedy("first the fields of a batch, then those values"))
        })?;
        let types: Vec<Type> = block.params[..n_fields].iter().map(|param| param.ty).collect();
        let fields = new_symbols(&types).map_err(placed)?;
        let first = self.first_values(call, &block.params[n_fields..])?;
        let goes_on = || Ok(Var::scalar(true));
        let body = self.body(call, block, &fields, &first, |_, results| {
            Ok(std::iter::once(goes_on()?).chain(results).collect())
        })?;
        let start = Var::of(&[0i64, 0], &[2]).map_err(placed)?;
        let init: Vec<&Var> = first.iter().collect();
        let done = for_each_of(&reader, epochs, &fields, &start, &init, body);
        Ok(done.map_err(placed)?.1)
    }

    /// `repeat{times=n}(initial values) (%i: i64[], carried values) { … return carried values }`.
    fn repeat(&mut self, call: &'a ShortCall, block: &'a ShortBlock) -> Placed<Vec<Var>> {
        let placed = |error: Error| (call.start, error);
        call.attrs.only("repeat", &["times"]).map_err(placed)?;
        let Some(times) = call.whole("times").map_err(placed)? else {
            return Err(placed(Error::argument("`repeat` needs `times`, a whole number")));
        };
        let counter = Type::scalar(DType::I64);
        match block.params.first() {
            Some(first) if first.ty == counter => {}
            _ => {
                let what = "the block of `repeat` takes the number of the trip first, an i64[]";
                return Err(placed(Error::argument(what)));
            }
        }
        let mut first = vec![Var::scalar(0i64)];
        first.extend(self.first_values(call, &block.params[1..])?);
        let body = self.body(call, block, &[], &first, |params, results| {
            let next = add(&params[0], &Var::scalar(1i64))?;
            let goes_on = lt(&next, &Var::scalar(times))?;
            Ok([goes_on, next].into_iter().chain(results).collect())
        })?;
        let init: Vec<&Var> = first.iter().collect();
        let mut last = while_of(&Var::scalar(times > 0), &init, body).map_err(placed)?;
        let _ = last.remove(0);
        Ok(last)
    }

    /// `while(condition, initial values) (carried values) { … return condition, carried values }`.
    fn while_loop(&mut self, call: &'a ShortCall, block: &'a ShortBlock) -> Placed<Vec<Var>> {
        let placed = |error: Error| (call.start, error);
        call.attrs.only("while", &[]).map_err(placed)?;
        let Some((condition, rest)) = call.operands.split_first() else {
            return Err(placed(Error::argument("`while` takes a condition first")));
        };
        let condition = self.operand(condition, DType::Bool)?;
        let first = self.first_of(call, rest, &block.params)?;
        let body = self.body(call, block, &[], &first, |_, results| Ok(results))?;
        let init: Vec<&Var> = first.iter().collect();
        while_of(&condition, &init, body).map_err(placed)
    }

    fn first_values(
        &mut self,
        call: &'a ShortCall,
        params: &'a [fluvial_core::text::short::ShortParam],
    ) -> Placed<Vec<Var>> {
        self.first_of(call, &call.operands, params)
    }

    /// The values that a loop begins with, of the types that its block says.
    fn first_of(
        &mut self,
        call: &'a ShortCall,
        operands: &'a [fluvial_core::text::short::Operand],
        params: &'a [fluvial_core::text::short::ShortParam],
    ) -> Placed<Vec<Var>> {
        if operands.len() != params.len() {
            let (n, m) = (operands.len(), params.len());
            let what = format!("the loop begins with {n} values, and its block carries {m}");
            return Err((call.start, Error::argument(what)));
        }
        let mut first = Vec::new();
        for (operand, param) in operands.iter().zip(params) {
            let value = self.operand(operand, param.ty.dtype())?;
            self.check(&param.ty, &value.ty()).map_err(|error| (param.start, error))?;
            first.push(value);
        }
        Ok(first)
    }

    /// Carries out the block of a loop once, as its body.
    fn body(
        &mut self,
        call: &'a ShortCall,
        block: &'a ShortBlock,
        fields: &[Type],
        first: &[Var],
        end: impl FnOnce(&[Var], Vec<Var>) -> fluvial_core::Result<Vec<Var>>,
    ) -> Placed<fluvial_core::Traced> {
        let types: Vec<Type> = fields.iter().copied().chain(first.iter().map(Var::ty)).collect();
        let mut fault = None;
        let depth = self.blocks.len();
        let traced = trace_block_at(call.loc, &types, |params| {
            let carried_out = self.carry_out(block, fields, params);
            self.blocks.truncate(depth);
            self.sizes.truncate(depth);
            match carried_out {
                Ok(results) => end(params, results),
                Err((start, error)) => {
                    fault = Some(start);
                    Err(error)
                }
            }
        });
        traced.map_err(|error| (fault.unwrap_or(call.start), error))
    }

    fn carry_out(
        &mut self,
        block: &'a ShortBlock,
        fields: &[Type],
        params: &[Var],
    ) -> Placed<Vec<Var>> {
        let mut sizes = self.sizes.last().cloned().unwrap_or_else(Sizes::default);
        for (param, field) in block.params.iter().zip(fields) {
            sizes.unify(&param.ty, field).map_err(|error| (param.start, error))?;
        }
        self.blocks.push(Default::default());
        self.sizes.push(sizes);
        for (param, value) in block.params.iter().zip(params) {
            self.define(param.start, &param.name, value.clone().named(&param.name))?;
        }
        self.statements(block)
    }
}
