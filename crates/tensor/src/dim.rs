//! Sizes of axes: numbers, symbols, and exact arithmetic on both.
//!
//! A [`Dim`] is one word. A plain size is the number itself and its arithmetic touches nothing
//! else. Everything symbolic is an index into a table ([`intern`]) of polynomials in canonical form
//! ([`poly`]), so two sizes are equal exactly when the words are.

mod intern;
mod poly;
mod text;
mod whole;

use crate::error::{Error, Result};
use intern::Node;
use poly::Poly;
use std::sync::Arc;

pub use whole::Whole;

/// The size of one axis: a number, a symbol such as `batch`, or an expression of them.
///
/// Expressions are kept in a canonical form, so equality is equality of the polynomials:
///
/// ```
/// use fluvial_tensor::Dim;
/// let (a, b) = (Dim::symbol("a")?, Dim::symbol("b")?);
/// let product = a.add(b)?.mul(a.sub(b)?)?;
/// assert_eq!(product, Dim::parse("a*a - b*b")?);
/// assert_eq!(product.floor_div(a.add(b)?)?, a.sub(b)?);
/// assert_eq!(product.to_string(), "a*a - b*b");
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
///
/// Expressions are bounded (64 terms, degree 8, 16 nested divisions, 4096 written symbols and
/// numbers); beyond that arithmetic gives an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dim(i64);

/// Placeholders occupy the 256 words from here on.
const FIRST_FRESH: i64 = i64::MIN;
const LAST_FRESH: i64 = i64::MIN + u8::MAX as i64;

/// The longest name of a symbol, in bytes.
const MAX_NAME: usize = 255;

impl Dim {
    /// Where sizes are given: the size that follows from the others, as -1 in numpy's `reshape`.
    /// Functions that know it put a real size in its place.
    pub const REST: Dim = Dim::fresh(u8::MAX);

    /// A plain size. Sizes above `i64::MAX` do not exist; they become `i64::MAX`.
    #[inline]
    pub const fn size(n: usize) -> Dim {
        if n as u64 > i64::MAX as u64 { Dim(i64::MAX) } else { Dim(n as i64) }
    }

    /// The size of an axis of a tensor that exists, which is known to be small enough.
    #[inline]
    pub(crate) fn size_of_axis(n: usize) -> Dim {
        Dim(n as i64)
    }

    /// The symbol of this name: `[A-Za-z_][A-Za-z0-9_]*`, at most 255 bytes.
    pub fn symbol(name: &str) -> Result<Dim> {
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let goes_on_well = name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
        if !starts_well || !goes_on_well || name.len() > MAX_NAME {
            return Err(Error::symbolic(format!("{name:?} is not a name for a size"))
                .remedy("use letters, digits and underscores, not starting with a digit"));
        }
        intern::symbol(name)
    }

    /// Placeholder number `k` for a size that is only known when the operation runs.
    #[inline]
    pub const fn fresh(k: u8) -> Dim {
        Dim(FIRST_FRESH + k as i64)
    }

    /// The number of a placeholder made by [`Dim::fresh`].
    #[inline]
    pub fn fresh_index(self) -> Option<u8> {
        (self.0 <= LAST_FRESH).then(|| (self.0 - FIRST_FRESH) as u8)
    }

    /// The number, if this is a plain size.
    #[inline]
    pub fn value(self) -> Option<usize> {
        (self.0 >= 0).then_some(self.0 as usize)
    }

    /// Whether this is anything but a plain size.
    #[inline]
    pub fn is_symbolic(self) -> bool {
        self.0 < 0
    }

    /// The name, if this is a bare symbol.
    pub fn symbol_name(self) -> Option<Arc<str>> {
        match &*intern::node(self)? {
            Node::Symbol(name) => Some(name.clone()),
            _ => None,
        }
    }

    /// The sum.
    #[expect(clippy::should_implement_trait, reason = "it can fail")]
    #[inline]
    pub fn add(self, other: Dim) -> Result<Dim> {
        match self.0.checked_add(other.0) {
            Some(sum) if self.0 >= 0 && other.0 >= 0 => Ok(Dim(sum)),
            _ => self.combine(other, Poly::add),
        }
    }

    /// The difference; an error if it is a negative number.
    #[expect(clippy::should_implement_trait, reason = "it can fail")]
    #[inline]
    pub fn sub(self, other: Dim) -> Result<Dim> {
        if self.0 >= other.0 && other.0 >= 0 {
            return Ok(Dim(self.0 - other.0));
        }
        self.combine(other, Poly::sub)
    }

    /// The product.
    #[expect(clippy::should_implement_trait, reason = "it can fail")]
    #[inline]
    pub fn mul(self, other: Dim) -> Result<Dim> {
        match self.0.checked_mul(other.0) {
            Some(product) if self.0 >= 0 && other.0 >= 0 => Ok(Dim(product)),
            _ => self.combine(other, Poly::mul),
        }
    }

    /// The quotient rounded down; an error if `other` is 0.
    ///
    /// What divides exactly is divided: `(784*batch)//784` is `batch`. A symbolic divisor is taken
    /// to be other than 0, so `(batch*k)//k` is `batch`.
    #[inline]
    pub fn floor_div(self, other: Dim) -> Result<Dim> {
        if self.0 >= 0 && other.0 > 0 {
            return Ok(Dim(self.0 / other.0));
        }
        self.combine(other, Poly::floor_div)
    }

    /// Arithmetic on polynomials, for all but plain sizes.
    #[cold]
    fn combine(self, other: Dim, f: fn(&Poly, &Poly) -> Result<Poly>) -> Result<Dim> {
        f(&Poly::of(self), &Poly::of(other))?.into_dim()
    }

    /// Replaces symbols and placeholders: each one for which `f` answers becomes the answer.
    pub fn substitute(self, f: &dyn Fn(Dim) -> Option<Dim>) -> Result<Dim> {
        if !self.is_symbolic() {
            return Ok(self);
        }
        Poly::of(self).substitute(f)?.into_dim()
    }

    /// The bare symbols inside, in order of name, without repeats.
    pub fn symbols(self) -> Vec<Dim> {
        if !self.is_symbolic() {
            return Vec::new();
        }
        let mut atoms = Vec::new();
        Poly::of(self).collect_leaves(&mut atoms);
        let mut named: Vec<(Arc<str>, Dim)> =
            atoms.into_iter().filter_map(|atom| Some((atom.symbol_name()?, atom))).collect();
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        named.dedup();
        named.into_iter().map(|(_, atom)| atom).collect()
    }

    /// Reads what `Display` writes: `+`, `-`, `*`, `//`, brackets, numbers, names, and `?0` for
    /// placeholders.
    pub fn parse(text: &str) -> Result<Dim> {
        text::parse(text)
    }
}

impl From<usize> for Dim {
    #[inline]
    fn from(n: usize) -> Dim {
        Dim::size(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::testing::Rng;

    fn dim(text: &str) -> Dim {
        Dim::parse(text).unwrap()
    }

    /// An expression to be evaluated both symbolically and with numbers.
    enum Tree {
        Leaf(Dim, usize),
        Node(char, Box<Tree>, Box<Tree>),
    }

    impl Tree {
        fn random(rng: &mut Rng, depth: usize) -> Tree {
            if depth == 0 || rng.below(4) == 0 {
                return match rng.below(5) {
                    0 => Tree::Leaf(Dim::size(0), 0),
                    k if k < 3 => {
                        let n = 1 + rng.below(6);
                        Tree::Leaf(Dim::size(n), n)
                    }
                    _ => {
                        let k = rng.below(3);
                        Tree::Leaf(dim(["ra", "rb", "rc"][k]), 100 + k)
                    }
                };
            }
            let operator = ['+', '-', '*', '/', '/'][rng.below(5)];
            let mut side = || Box::new(Tree::random(rng, depth - 1));
            Tree::Node(operator, side(), side())
        }

        fn symbolic(&self) -> Result<Dim> {
            match self {
                Tree::Leaf(dim, _) => Ok(*dim),
                Tree::Node('+', a, b) => a.symbolic()?.add(b.symbolic()?),
                Tree::Node('-', a, b) => a.symbolic()?.sub(b.symbolic()?),
                Tree::Node('*', a, b) => a.symbolic()?.mul(b.symbolic()?),
                Tree::Node(_, a, b) => a.symbolic()?.floor_div(b.symbolic()?),
            }
        }

        /// None where a divisor is 0.
        fn number(&self, values: [i64; 3]) -> Option<i64> {
            match self {
                Tree::Leaf(_, n) if *n >= 100 => Some(values[n - 100]),
                Tree::Leaf(_, n) => Some(*n as i64),
                Tree::Node(operator, a, b) => {
                    let (a, b) = (a.number(values)?, b.number(values)?);
                    match operator {
                        '+' => Some(a + b),
                        '-' => Some(a - b),
                        '*' => a.checked_mul(b),
                        _ if b == 0 => None,
                        _ => Some(a / b - i64::from(a % b != 0 && (a < 0) != (b < 0))),
                    }
                }
            }
        }
    }

    #[test]
    fn random_expressions_keep_their_value_and_their_text() {
        let mut rng = Rng::new(7);
        let (mut compared, mut symbolic) = (0, 0);
        for _ in 0..20_000 {
            let depth = 1 + rng.below(4);
            let tree = Tree::random(&mut rng, depth);
            let Ok(size) = tree.symbolic() else { continue };
            assert_eq!(dim(&size.to_string()), size, "{size}");
            symbolic += usize::from(size.is_symbolic());
            for _ in 0..4 {
                let values = [0; 3].map(|_| rng.below(9) as i64);
                let Some(expected) = tree.number(values) else { continue };
                let names = ["ra", "rb", "rc"].map(dim);
                let at = |symbol| names.iter().position(|&name| name == symbol);
                let result =
                    size.substitute(&|symbol| Some(Dim::size(values[at(symbol)?] as usize)));
                match usize::try_from(expected) {
                    Ok(n) => assert_eq!(result.unwrap().value(), Some(n), "{size} at {values:?}"),
                    Err(_) => assert_eq!(result.unwrap_err().kind(), ErrorKind::Shape, "{size}"),
                }
                compared += 1;
            }
        }
        assert!(compared > 20_000 && symbolic > 5_000, "{compared} {symbolic}");
    }

    #[test]
    fn equal_polynomials_are_one_size() {
        let (a, b) = (dim("a"), dim("b"));
        let product = a.add(b).unwrap().mul(a.sub(b).unwrap()).unwrap();
        assert_eq!(product, a.mul(a).unwrap().sub(b.mul(b).unwrap()).unwrap());
        assert_eq!(dim("(a + b)*(a + b)"), dim("a*a + 2*b*a + b*b"));
        assert_eq!(dim("a - a"), Dim::size(0));
        assert_eq!(dim("a + 3 - a"), Dim::size(3));
        assert_eq!(dim("0*a"), Dim::size(0));
        assert_eq!(dim("1*a + 0"), a);
        assert_ne!(dim("2*a"), dim("a*a"));
    }

    #[test]
    fn divisions_simplify() {
        let cases = [
            ("(784*batch)//784", "batch"),
            ("(2*a + 4)//2", "a + 2"),
            ("(2*a + 1)//2", "a"),
            ("(6*a)//4", "a + a//2"),
            ("(2*a + 3)//4", "(a + 1)//2"),
            ("(a*b + b*c)//b", "a + c"),
            ("(a*b + c)//b", "a + c//b"),
            ("(a*b)//(a*c)", "b//c"),
            ("(6*a)//(4*a)", "1"),
            ("(a*a - b*b)//(a + b)", "a - b"),
            ("(a//2)//3", "a//6"),
            ("((h - 3)//2 + 1 - 3)//2 + 1", "(h - 7)//4 + 1"),
            ("(h - 3)//2 + 1", "(h + 1)//2 - 1"),
            ("(h - 3)//2 + 1", "(h - 1)//2"),
            ("a//-2", "(-a)//2"),
            ("a//a", "1"),
            ("0//a", "0"),
            ("a//1", "a"),
            ("7//2", "3"),
        ];
        for (text, simple) in cases {
            assert_eq!(dim(text), dim(simple), "{text} is not {simple} but {}", dim(text));
        }
        assert_ne!(dim("a//b"), dim("b//a"));
    }

    #[test]
    fn plain_sizes_are_checked() {
        let (two, three) = (Dim::size(2), Dim::size(3));
        assert_eq!(two.add(three).unwrap().value(), Some(5));
        assert_eq!(three.sub(two).unwrap().value(), Some(1));
        assert_eq!(two.mul(three).unwrap().value(), Some(6));
        assert_eq!(three.floor_div(two).unwrap().value(), Some(1));
        let message = |result: Result<Dim>| result.unwrap_err().to_string();
        assert_eq!(message(two.sub(three)), "a size cannot be negative, but it is -1");
        assert_eq!(message(two.floor_div(Dim::size(0))), "a size is divided by zero");
        assert_eq!(message(dim("a").floor_div(Dim::size(0))), "a size is divided by zero");
        let huge = Dim::size(usize::MAX);
        assert_eq!(huge.value(), Some(i64::MAX as usize));
        assert_eq!(message(huge.add(two)), "the arithmetic of a size overflows 64 bits");
        assert_eq!(message(huge.mul(two)), "the arithmetic of a size overflows 64 bits");
        assert!(huge.mul(dim("a")).unwrap().mul(two).is_err());
    }

    #[test]
    fn symbols_are_listed_by_name() {
        let size = dim("zeta*alpha + (mid + ?3)//alpha + 2");
        let names: Vec<_> =
            size.symbols().into_iter().map(|s| s.symbol_name().unwrap().to_string()).collect();
        assert_eq!(names, ["alpha", "mid", "zeta"]);
        assert_eq!(Dim::size(3).symbols(), []);
        assert_eq!(Dim::fresh(1).symbols(), []);
        assert_eq!(size.symbol_name(), None);
        for name in ["", "1a", "a b", "a-b", "é"] {
            assert!(Dim::symbol(name).is_err(), "{name:?}");
        }
        assert!(Dim::symbol(&"n".repeat(256)).is_err());
    }

    #[test]
    fn placeholders_are_apart_from_everything() {
        for k in [0, 1, 255] {
            assert_eq!(Dim::fresh(k).fresh_index(), Some(k));
            assert!(Dim::fresh(k).is_symbolic());
            assert_eq!(Dim::fresh(k).symbol_name(), None);
            assert_eq!(dim(&format!("?{k}")), Dim::fresh(k));
        }
        assert_eq!(dim("a").fresh_index(), None);
        assert_eq!(Dim::size(0).fresh_index(), None);
        let doubled = Dim::fresh(0).mul(Dim::size(2)).unwrap();
        assert_eq!(doubled.to_string(), "2*?0");
        let replace = |d: Dim| d.fresh_index().map(|_| dim("n"));
        assert_eq!(doubled.substitute(&replace).unwrap(), dim("2*n"));
    }

    #[test]
    fn expressions_are_bounded() {
        let grow = |step: &dyn Fn(Dim) -> Result<Dim>| {
            let mut size = dim("grow_a");
            for _ in 0..100 {
                match step(size) {
                    Ok(next) => size = next,
                    Err(error) => return error.kind(),
                }
            }
            panic!("no bound was met");
        };
        let n = |k: usize| dim(&format!("grow_{k}"));
        assert_eq!(grow(&|size| size.mul(dim("grow_a"))), ErrorKind::Symbolic);
        assert_eq!(grow(&|size| size.mul(size.add(n(1))?)), ErrorKind::Symbolic);
        assert_eq!(grow(&|size| size.floor_div(n(1))?.add(Dim::size(1))), ErrorKind::Symbolic);
        let square_quotient = |size: Dim| size.mul(size)?.add(size)?.floor_div(n(2));
        assert_eq!(grow(&square_quotient), ErrorKind::Symbolic);
        let many = (0..65).try_fold(Dim::size(0), |sum, k| sum.add(n(k)));
        assert_eq!(many.unwrap_err().kind(), ErrorKind::Symbolic);
    }

    #[test]
    fn threads_agree_on_symbols() {
        let intern = || (0..200).map(|k| dim(&format!("2*thread_{k} + 1"))).collect::<Vec<_>>();
        let all: Vec<Vec<Dim>> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..4).map(|_| scope.spawn(intern)).collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
