//! Printing a body as a formula.

use std::fmt;

use super::body::Body;
use super::inst::{Binary, Inst, Unary};

/// How tightly a piece of a formula holds together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Comparison,
    Sum,
    Product,
    Negation,
    Atom,
}

/// The text of a value, and how tightly it holds together.
struct Piece {
    text: String,
    level: Level,
}

impl Piece {
    fn atom(text: String) -> Piece {
        Piece { text, level: Level::Atom }
    }

    /// The text, in parentheses if it holds less tightly than `level`.
    fn within(&self, level: Level) -> String {
        if self.level < level { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// A formula over the inputs `x0`, `x1`, … and the parameters `p0`, `p1`, …. A result that is used more
/// than once gets a name first: `let t0 = exp(x0); t0 / (1 + t0)`.
impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let insts = self.insts();
        let mut uses = vec![0; insts.len()];
        for operand in insts.iter().flat_map(|inst| inst.operands()) {
            uses[operand as usize] += 1;
        }
        let mut n_named = 0;
        let mut pieces: Vec<Piece> = Vec::with_capacity(insts.len());
        for (index, &inst) in insts.iter().enumerate() {
            let mut piece = piece(inst, &pieces);
            if !inst.is_leaf() {
                release_operands(inst, &uses, &mut pieces);
                if uses[index] > 1 {
                    write!(f, "let t{n_named} = {}; ", piece.text)?;
                    piece = Piece::atom(format!("t{n_named}"));
                    n_named += 1;
                }
            }
            pieces.push(piece);
        }
        match pieces.last() {
            Some(result) => f.write_str(&result.text),
            None => f.write_str("(too many instructions)"),
        }
    }
}

/// Frees the texts that `inst` was the only one to use.
fn release_operands(inst: Inst, uses: &[usize], pieces: &mut [Piece]) {
    for operand in inst.operands().filter(|&operand| uses[operand as usize] == 1) {
        pieces[operand as usize].text = String::new();
    }
}

fn piece(inst: Inst, pieces: &[Piece]) -> Piece {
    let at = |index: u16| &pieces[index as usize];
    match inst {
        Inst::Input(k) => Piece::atom(format!("x{k}")),
        Inst::Param(k) => Piece::atom(format!("p{k}")),
        Inst::Const(value) => {
            let level = if value.is_sign_negative() { Level::Negation } else { Level::Atom };
            Piece { text: value.to_string(), level }
        }
        Inst::Unary(Unary::Neg, a) => {
            Piece { text: format!("-{}", at(a).within(Level::Atom)), level: Level::Negation }
        }
        Inst::Unary(op, a) => Piece::atom(format!("{}({})", op.name(), at(a).text)),
        Inst::Binary(op, a, b) => match infix(op) {
            Some((symbol, level, left, right)) => {
                let text = format!("{} {symbol} {}", at(a).within(left), at(b).within(right));
                Piece { text, level }
            }
            None => Piece::atom(format!("{}({}, {})", op.name(), at(a).text, at(b).text)),
        },
        Inst::Select(c, a, b) => {
            Piece::atom(format!("select({}, {}, {})", at(c).text, at(a).text, at(b).text))
        }
    }
}

/// The symbol of an operator, its level, and the levels its two sides need.
fn infix(op: Binary) -> Option<(&'static str, Level, Level, Level)> {
    use Level::{Comparison, Negation, Product, Sum};
    Some(match op {
        Binary::Add => ("+", Sum, Sum, Product),
        Binary::Sub => ("-", Sum, Sum, Product),
        Binary::Mul => ("*", Product, Product, Negation),
        Binary::Div => ("/", Product, Product, Negation),
        Binary::Lt => ("<", Comparison, Sum, Sum),
        Binary::Le => ("<=", Comparison, Sum, Sum),
        Binary::Gt => (">", Comparison, Sum, Sum),
        Binary::Ge => (">=", Comparison, Sum, Sum),
        Binary::Eq => ("==", Comparison, Sum, Sum),
        Binary::Ne => ("!=", Comparison, Sum, Sum),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::Body;

    #[test]
    fn formulas() {
        for (body, formula) in [
            (Body::unary(|x| 1.0 / (1.0 + (-x).exp())), "1 / (1 + exp(-x0))"),
            (Body::binary(|a, b| a - (b - a)), "x0 - (x1 - x0)"),
            (Body::binary(|a, b| a - b - a), "x0 - x1 - x0"),
            (Body::binary(|a, b| a / (b * a)), "x0 / (x1 * x0)"),
            (Body::unary(|x| -(-x) * -1.5), "-(-x0) * -1.5"),
            (Body::binary(|a, b| (a + b).lt(a * b)), "x0 + x1 < x0 * x1"),
            (Body::binary(|a, b| a.lt(b).eq(0.0)), "(x0 < x1) == 0"),
            (Body::unary(|x| x.gt(0.0).select(x, x.pow(2.0))), "select(x0 > 0, x0, pow(x0, 2))"),
            (Body::build(1, 1, |x, p| x[0] * p[0]), "x0 * p0"),
            (Body::build(1, 1, |x, p| p[0].polygamma(x[0].silu())), "polygamma(p0, silu(x0))"),
            (Body::unary(|x| 0.0 - (-x).softplus(1.0)), "0 - softplus(-x0, 1)"),
            (Body::unary(|x| x.exp() / (1.0 + x.exp())), "let t0 = exp(x0); t0 / (1 + t0)"),
        ] {
            assert_eq!(body.to_string(), formula);
        }
    }

    #[test]
    fn shared_values_do_not_explode() {
        let body = Body::unary(|x| (0..200).fold(x, |value, _| value * value));
        assert!(body.to_string().len() < 10_000);
    }
}
