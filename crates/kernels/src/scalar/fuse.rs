//! Composition: one body computed inside another.

use fluvial_tensor::{Error, Result};

use super::body::Body;
use super::build::{Builder, MAX_INSTS};
use super::inst::Inst;

impl Body {
    /// The body that computes `producer` and uses its result in place of this body's input `input`.
    ///
    /// Its inputs are this body's inputs without `input`, in order, and then all of the producer's
    /// inputs. Its parameters are this body's parameters and then the producer's. For example
    /// `f(a, b, c).fuse(1, g(x, y))` is `h(a, c, x, y) = f(a, g(x, y), c)`.
    ///
    /// The result equals running the two bodies one after the other in the same compute dtype, by bits,
    /// provided the tensor between them would have had the compute dtype too.
    ///
    /// An `input` that does not exist, more than 255 inputs or parameters, or more than 65,535
    /// instructions are an error.
    pub fn fuse(&self, input: usize, producer: &Body) -> Result<Body> {
        if input >= self.n_inputs() {
            let count = self.n_inputs();
            return Err(Error::argument(format!(
                "cannot fuse into input {input} of a scalar body of {count} inputs"
            )));
        }
        if self.insts().is_empty() || producer.insts().is_empty() {
            return Err(too_long());
        }
        if self.results().len() != 1 || producer.results().len() != 1 {
            return Err(Error::argument("only scalar bodies of one result can be fused"));
        }
        let kept_inputs = self.n_inputs() - 1;
        let n_inputs = count(kept_inputs + producer.n_inputs(), "inputs")?;
        let n_params = count(self.n_params() + producer.n_params(), "parameters")?;

        let builder = Builder::default();
        let inner = append(&builder, producer, |inst| match inst {
            Inst::Input(k) => Operand::Inst(Inst::Input(kept_inputs as u8 + k)),
            Inst::Param(k) => Operand::Inst(Inst::Param(self.n_params() as u8 + k)),
            other => Operand::Inst(other),
        });
        let outer = append(&builder, self, |inst| match inst {
            Inst::Input(k) if k as usize == input => Operand::Value(inner),
            Inst::Input(k) if k as usize > input => Operand::Inst(Inst::Input(k - 1)),
            other => Operand::Inst(other),
        });
        let insts = builder.finish(outer).ok_or_else(too_long)?;
        Ok(Body::assemble(n_inputs, n_params, insts))
    }
}

fn too_long() -> Error {
    Error::argument(format!("fusing gives a scalar body of more than {MAX_INSTS} instructions"))
}

/// What stands for an instruction of the original body.
enum Operand {
    Inst(Inst),
    Value(u16),
}

/// Adds all instructions of `body`, with its leaves replaced; the index of its result.
fn append(builder: &Builder, body: &Body, replace: impl Fn(Inst) -> Operand) -> u16 {
    let mut renumbered: Vec<u16> = Vec::with_capacity(body.insts().len());
    for &inst in body.insts() {
        renumbered.push(match replace(inst) {
            Operand::Value(index) => index,
            Operand::Inst(inst) => {
                builder.push(inst.map_operands(|operand| renumbered[operand as usize]))
            }
        });
    }
    renumbered.last().copied().unwrap_or_default()
}

fn count(count: usize, what: &str) -> Result<u8> {
    u8::try_from(count).map_err(|_| {
        Error::argument(format!(
            "fusing gives a scalar body of {count} {what}, at most 255 are possible"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_and_params_are_appended() {
        let outer = Body::build(3, 1, |x, p| x[0] - x[1] * x[2] + p[0]);
        let inner = Body::build(2, 1, |x, p| x[0] / x[1] - p[0]);
        let fused = outer.fuse(1, &inner).unwrap();
        assert_eq!((fused.n_inputs(), fused.n_params()), (4, 2));
        assert_eq!(fused.to_string(), "x0 - (x2 / x3 - p1) * x1 + p0");
        let middle = inner.eval_f64(&[5.0, 3.0], &[0.25]);
        assert_eq!(
            fused.eval_f64(&[1.5, 2.5, 5.0, 3.0], &[0.5, 0.25]),
            outer.eval_f64(&[1.5, middle, 2.5], &[0.5])
        );
    }

    #[test]
    fn shared_work_is_shared_and_unused_producers_vanish() {
        let square = Body::unary(|x| x * x);
        let fused = square.fuse(0, &square).unwrap();
        assert_eq!(fused, Body::unary(|x| (x * x) * (x * x)));
        let constant = Body::binary(|a, _| a + 1.0);
        let fused = constant.fuse(1, &square).unwrap();
        assert_eq!(fused, Body::binary(|a, _| a + 1.0));
    }

    #[test]
    fn limits_are_errors() {
        let body = Body::unary(|x| x + 1.0);
        assert!(body.fuse(1, &body).is_err());
        let wide = Body::build(255, 0, |x, _| x[0]);
        assert!(wide.fuse(0, &body).is_ok());
        assert!(wide.fuse(0, &Body::binary(|a, b| a + b)).is_err());
        let long = Body::unary(|x| (0..40_000).fold(x, |sum, _| sum.sin()));
        assert!(long.fuse(0, &long).is_err());
    }
}
