//! `matmul`: the matrix product.

use super::matmul_then;
use super::matrices::{BATCH, batch_steps};
use crate::prelude::*;
use crate::shape::{Permute, Reshape};

/// The product of matrices, as in numpy: `a` is `[.., m, k]`, `b` is `[.., k, n]`, and the axes
/// before them are broadcast. A vector on the left is a row, a vector on the right a column.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let a = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// let x = Var::of(&[1.0, 1.0], &[2])?;
/// assert_eq!(matmul(&a, &x)?.to_vec::<f64>()?, [3.0, 7.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn matmul(a: &Var, b: &Var) -> Result<Var> {
    let precision = autocast::low();
    let (a, b) = (&precision.of(a)?, &precision.of(b)?);
    product(a, b, false, false)
}

/// [`matmul`] of matrices that are transposed first, at no cost, where it is said so.
#[track_caller]
pub(crate) fn product(a: &Var, b: &Var, transpose_a: bool, transpose_b: bool) -> Result<Var> {
    bind1(Matmul { transpose_a, transpose_b }, &[a, b])
}

/// One product, in C.
pub(crate) static GEMM: Source = Source { name: "gemm", text: include_str!("gemm.c"), needs: &[] };

/// Products, in C.
pub(crate) static SOURCE: Source =
    Source { name: "matmul", text: include_str!("matmul.c"), needs: &[&GEMM, &BATCH] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("matmul.wgsl"),
    args: &["a", "b", "c", "rank", "sizes", "steps_a", "steps_b", "ta", "tb", "m", "n", "k"],
    count: |n| {
        let tiles = [9, 10].map(|i| n[i].int().saturating_add(31) / 32);
        let batch: i64 = n[4].ints().iter().product();
        batch.saturating_mul(tiles[0]).saturating_mul(tiles[1])
    },
};

/// Products of whole numbers, in C.
pub(crate) static WHOLE: Source =
    Source { name: "matmul_whole", text: include_str!("matmul_whole.c"), needs: &[&BATCH] };

attributes! {
    /// The op behind [`matmul`].
    pub struct Matmul = "matmul" {
        /// Whether the matrices on the left are taken with rows as columns.
        pub transpose_a: bool,
        /// Whether the matrices on the right are.
        pub transpose_b: bool,
    }
}

/// The dims of an operand as a stack of matrices.
fn as_matrices(dims: &[Dim], left: bool, transpose: bool) -> SmallVec<[Dim; 8]> {
    let one = Dim::size(1);
    let mut dims: SmallVec<[Dim; 8]> = match (dims, left) {
        (&[n], true) => smallvec![one, n],
        (&[n], false) => smallvec![n, one],
        _ => dims.into(),
    };
    if transpose {
        let rank = dims.len();
        dims.swap(rank - 2, rank - 1);
    }
    dims
}

impl Matmul {
    /// The operands as matrices.
    pub(super) fn operands(&self, inputs: &[&Value]) -> Result<(Tensor, Tensor)> {
        let a = matrices(inputs[0].tensor()?, 0, self.transpose_a)?;
        Ok((a, matrices(inputs[1].tensor()?, 1, self.transpose_b)?))
    }
}

impl Matmul {
    /// Matrices on the left with one on the right are one matrix.
    fn of_rows(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let (x, ty) = (batch.given(0), batch.ty(0)?);
        let rows = batch.reshaped(x, &[batch.size().mul(ty.dim(0))?, ty.dim(1)])?;
        let y = product(&rows, batch.given(1), false, self.transpose_b)?;
        Ok(Some(smallvec![batch.shaped(&y, batch.outputs()?[0].dims())?]))
    }
}

impl Op for Matmul {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn takes(&self) -> Takes {
        Takes::Analytic
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (a, b) = (inputs[0], inputs[1]);
        if a.is_list() || b.is_list() || a.rank() == 0 || b.rank() == 0 {
            return Err(Error::shape("expected matrices or vectors")
                .remedy("use `mul` to multiply by a number"));
        }
        if self.transpose_a && a.rank() == 1 || self.transpose_b && b.rank() == 1 {
            return Err(Error::shape("a vector cannot be transposed"));
        }
        let dtype = a.dtype().promote(b.dtype());
        if dtype.is_bool() {
            return Err(Error::dtype("bools are not numbers here").remedy("cast them first"));
        }
        let left = as_matrices(a.dims(), true, self.transpose_a);
        let right = as_matrices(b.dims(), false, self.transpose_b);
        let (inner_left, inner_right) = (left[left.len() - 1], right[right.len() - 2]);
        if inner_left != inner_right {
            return Err(Error::shape(format!(
                "the inner sizes differ: {inner_left} columns against {inner_right} rows"
            ))
            .remedy("transpose one of them, or check the order of the arguments"));
        }
        let mut dims = broadcast(&left[..left.len() - 2], &right[..right.len() - 2])?;
        if a.rank() > 1 {
            dims.push(left[left.len() - 2]);
        }
        if b.rank() > 1 {
            dims.push(right[right.len() - 1]);
        }
        Ok(smallvec![Type::new(dtype, &dims)?])
    }

    fn arithmetic(&self, inputs: &[&Type], outs: &[Type]) -> Option<f64> {
        let (a, transposed) = (inputs[0], self.transpose_a && inputs[0].rank() > 1);
        let inner = a.dim(a.rank() - if transposed { 2 } else { 1 }).value()?;
        Some(2.0 * inner as f64 * outs[0].numel()? as f64)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (a, b) = self.operands(inputs)?;
        let product = kernels::matmul(&a, &b, outs[0].dtype())?;
        Ok(smallvec![product.reshape(&known_sizes(&outs[0])?)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let (a, b) = (batch.ty(0)?, batch.ty(1)?);
        let plain = |x: &Type, transpose: bool| x.rank() == 2 && !transpose;
        match (batch.is_batched(0), batch.is_batched(1)) {
            // Rows of one matrix.
            (true, false) if a.rank() == 1 && b.rank() == 2 => {
                let y = product(batch.given(0), batch.given(1), false, self.transpose_b)?;
                return Ok(Some(smallvec![y]));
            }
            (false, true) if b.rank() == 1 && a.rank() == 2 => {
                let y = product(batch.given(1), batch.given(0), false, !self.transpose_a)?;
                return Ok(Some(smallvec![y]));
            }
            (true, false) if plain(&a, self.transpose_a) && b.rank() == 2 => {
                return self.of_rows(batch);
            }
            _ => {}
        }
        let matrices = |i: usize, ty: &Type| {
            let dims = as_matrices(ty.dims(), i == 0, false);
            match batch.is_batched(i) {
                true => batch.shaped(batch.given(i), &dims),
                false if dims[..] == *ty.dims() => Ok(batch.given(i).clone()),
                false => batch.reshaped(batch.given(i), &dims),
            }
        };
        let rank = a.rank().max(b.rank()).max(2);
        let spread = |i: usize, x: Var| match batch.is_batched(i) {
            true => {
                let ty = x.ty();
                let mut dims = SmallVec::<[Dim; 8]>::from_elem(Dim::size(1), rank + 1 - ty.rank());
                dims.extend_from_slice(&ty.dims()[1..]);
                batch.shaped(&x, &dims)
            }
            false => Ok(x),
        };
        let (left, right) = (spread(0, matrices(0, &a)?)?, spread(1, matrices(1, &b)?)?);
        let y = product(&left, &right, self.transpose_a, self.transpose_b)?;
        Ok(Some(smallvec![batch.shaped(&y, batch.outputs()?[0].dims())?]))
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OTHERS, |p| {
            let (of_left, of_right) = (|| gradient(p, true), || gradient(p, false));
            grads![p => of_left(), of_right()]
        })
    }

    fn weight(&self, inputs: &[&Type]) -> Option<Weight> {
        let plain = inputs[1].rank() == 2 && inputs[0].rank() > 1;
        let axis = if self.transpose_b { 0 } else { 1 };
        plain.then(|| Weight { input: 1, axis, channels: inputs[0].rank() - 1 })
    }

    fn simplify(&self, on: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        let (left, right) = (on.ty(inputs[0]), on.ty(inputs[1]));
        if left.rank() < 2 || right.rank() < 2 {
            return Ok(None);
        }
        let inner = as_matrices(left.dims(), true, self.transpose_a)[left.rank() - 1];
        if inner == Dim::size(1) {
            // A column by a row: the kernel multiplies their elements, too.
            let left = turned(on, inputs[0], self.transpose_a)?;
            let right = turned(on, inputs[1], self.transpose_b)?;
            return on.call(&MUL, &[left, right]).map(Some);
        }
        let (a, b) = (untransposed(on, inputs[0]), untransposed(on, inputs[1]));
        if a.is_none() && b.is_none() {
            return Ok(None);
        }
        let op = Matmul {
            transpose_a: self.transpose_a != a.is_some(),
            transpose_b: self.transpose_b != b.is_some(),
        };
        on.call(op, &[a.unwrap_or(inputs[0]), b.unwrap_or(inputs[1])]).map(Some)
    }

    fn absorb(&self, on: &Rewrite, inputs: &[ValueId], next: &Call) -> Option<Absorbed> {
        matmul_then::absorb(&self.into(), on, inputs, next)
    }

    fn properties(&self) -> Properties {
        // Cotangents of broadcast operands are summed to their shapes by the reverse walk.
        Properties { broadcasts: true, ..Properties::PURE }
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let (left, right) = (
            as_matrices(inputs[0].dims(), true, self.transpose_a),
            as_matrices(inputs[1].dims(), false, self.transpose_b),
        );
        let [.., m, k] = left[..] else { return Ok(None) };
        let n = right[right.len() - 1];
        let (of_left, of_right) = (&left[..left.len() - 2], &right[..right.len() - 2]);
        let batch = broadcast(of_left, of_right)?;
        let dtype = outs[0].dtype();
        let source = if dtype.is_float() { &SOURCE } else { &WHOLE };
        let (ta, tb) = (Arg::Int(self.transpose_a.into()), Arg::Int(self.transpose_b.into()));
        let operands = [Arg::As(0, dtype), Arg::As(1, dtype), Arg::Out(0)];
        // Rows of many matrices by one matrix are rows of one.
        let merged = of_right.is_empty() && !self.transpose_a;
        let of_batch = match merged {
            true => [
                Arg::Int(0),
                Arg::Sizes(smallvec![]),
                Arg::Sizes(smallvec![]),
                Arg::Sizes(smallvec![]),
            ],
            false => [
                Arg::Int(batch.len() as i64),
                Arg::Sizes(batch.clone()),
                Arg::Sizes(batch_steps(of_left, &batch, m.mul(k)?)?),
                Arg::Sizes(batch_steps(of_right, &batch, n.mul(k)?)?),
            ],
        };
        let m = if merged { m.mul(kernel::count(of_left)?)? } else { m };
        let sizes = [ta, tb, Arg::Size(m), Arg::Size(n), Arg::Size(k)];
        let args = operands.into_iter().chain(of_batch).chain(sizes);
        match dtype.is_float() {
            true => Native::new(source, [dtype], args).with_shader(&SHADER).alone(),
            false => Native::new(source, [dtype], args).alone(),
        }
    }
}

/// An operand as matrices; a vector gets the axis `at`.
fn matrices(x: &Tensor, at: usize, transpose: bool) -> Result<Tensor> {
    match (x.rank(), transpose) {
        (1, _) => x.unsqueeze(at),
        (rank, true) => x.transpose(rank - 2, rank - 1),
        _ => Ok(x.clone()),
    }
}

/// Rows or columns of one element, with the axes exchanged if it is said so.
fn turned(on: &mut Rewrite, value: ValueId, transpose: bool) -> Result<ValueId> {
    if !transpose {
        return Ok(value);
    }
    let dims = as_matrices(on.ty(value).dims(), true, true).to_vec();
    on.call1(Reshape { dims }, &[value])
}

/// What a value is the transpose of, matrix by matrix.
fn untransposed(on: &Rewrite, value: ValueId) -> Option<ValueId> {
    let call = on.producer(value)?;
    let rank = on.ty(value).rank() as i64;
    let axes = &call.op.downcast::<Permute>()?.axes;
    let exchanged = |(at, &axis): (usize, &i64)| {
        let wanted = match at as i64 {
            at if at == rank - 2 => rank - 1,
            at if at == rank - 1 => rank - 2,
            at => at,
        };
        axis.rem_euclid(rank) == wanted
    };
    axes.iter().enumerate().all(exchanged).then(|| call.inputs[0])
}

/// The cotangent of one operand, before broadcasting is undone.
fn gradient(p: &Pull<'_>, left: bool) -> Result<Var> {
    let op = p.op::<Matmul>()?;
    let own = p.in_type(if left { 0 } else { 1 })?;
    let mut other = p.x(if left { 1 } else { 0 });
    let (a_rank, b_rank) =
        if left { (own.rank(), other.rank()) } else { (other.rank(), own.rank()) };
    let mut dy = p.dy();
    if b_rank == 1 {
        dy = unsqueeze(&dy, dy.rank())?;
    }
    if a_rank == 1 {
        dy = unsqueeze(&dy, dy.rank() - 1)?;
    }
    if other.rank() == 1 {
        other = unsqueeze(&other, if left { 1 } else { 0 })?;
    }
    if !left && b_rank == 2 && a_rank > 2 && !op.transpose_a {
        // One matrix served all: one product of all rows is the sum of the products.
        (other, dy) = (rows(&other)?, rows(&dy)?);
    }
    let (ta, tb) = (op.transpose_a, op.transpose_b);
    let product = match (left, ta, tb) {
        (true, false, _) => product(&dy, &other, false, !tb)?,
        (true, true, _) => product(&other, &dy, tb, true)?,
        (false, _, false) => product(&other, &dy, !ta, false)?,
        (false, _, true) => product(&dy, &other, true, ta)?,
    };
    if own.rank() > 1 {
        return Ok(product);
    }
    // A vector was a matrix of one row or one column: that axis goes again.
    let axis = if left { product.rank() - 2 } else { product.rank() - 1 };
    let mut dims = product.dims();
    dims.remove(axis);
    crate::shape::reshape(&product, &dims)
}

fn unsqueeze(x: &Var, axis: usize) -> Result<Var> {
    let mut dims = x.dims();
    dims.insert(axis, Dim::size(1));
    crate::shape::reshape(x, &dims)
}

/// All rows of a stack of matrices as one matrix.
pub(crate) fn rows(x: &Var) -> Result<Var> {
    let dims = x.dims();
    let count = dims[..dims.len() - 1].iter().try_fold(Dim::size(1), |n, &dim| n.mul(dim))?;
    crate::shape::reshape(x, &[count, dims[dims.len() - 1]])
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Matmul::NAME, Matmul::build, || {
    let pairs: &[(&[usize], &[usize])] = &[
        (&[2, 3], &[3, 2]),
        (&[1, 4], &[4, 1]),
        (&[3], &[3]),
        (&[2, 3], &[3]),
        (&[3], &[3, 2]),
        (&[2, 2, 3], &[3, 2]),
        (&[2, 1, 2, 3], &[3, 3, 1]),
        (&[2, 3], &[2, 3, 2]),
        (&[2, 2, 3], &[3]),
        (&[2, 0], &[0, 3]),
    ];
    let mut samples: Vec<Sample> = pairs
        .iter()
        .map(|(a, b)| {
            let (a, b) = (ramp(a), ramp(b));
            let expected = naive(&a, &b);
            Sample::new(PLAIN, [a, b]).gives([expected])
        })
        .collect();
    samples.push(Sample::new(PLAIN, [ramp(&[2, 3]), ramp(&[2, 3])]).refused("inner sizes"));
    samples.push(Sample::new(PLAIN, [ramp(&[2, 3]), ramp(&[])]).refused("expected matrices"));
    samples
        .push(Sample::new(PLAIN, [ramp(&[2, 2, 3]), ramp(&[3, 3, 2])]).refused("do not broadcast"));
    let turned = |x: &Tensor| x.transpose(x.rank() - 2, x.rank() - 1).expect("a matrix");
    for (transpose_a, transpose_b) in [(true, false), (false, true), (true, true)] {
        let op = || Matmul { transpose_a, transpose_b };
        for (a, b) in [(ramp(&[2, 3]), ramp(&[3, 4])), (ramp(&[2, 2, 3]), ramp(&[3, 2]))] {
            let expected = naive(&a, &b);
            let given = |x: Tensor, transpose| if transpose { turned(&x) } else { x };
            let inputs = [given(a, transpose_a), given(b, transpose_b)];
            samples.push(Sample::new(op(), inputs).gives([expected]));
        }
        samples.push(Sample::new(op(), [ramp(&[3]), ramp(&[3])]).refused("cannot be transposed"));
    }
    samples
});

const PLAIN: Matmul = Matmul { transpose_a: false, transpose_b: false };

/// The product by its definition, for the samples.
fn naive(a: &Tensor, b: &Tensor) -> Tensor {
    let types = (a.ty(), b.ty());
    let out = PLAIN.infer(&[&types.0, &types.1]).expect("the samples fit");
    let sizes = out[0].sizes().expect("the samples have sizes");
    let a = if a.rank() == 1 { a.unsqueeze(0).expect("a row") } else { a.clone() };
    let b = if b.rank() == 1 { b.unsqueeze(1).expect("a column") } else { b.clone() };
    let (m, k) = (a.dims()[a.rank() - 2], a.dims()[a.rank() - 1]);
    let n = b.dims()[b.rank() - 1];
    let batch = broadcast(&dims_of(&a.dims()[..a.rank() - 2]), &dims_of(&b.dims()[..b.rank() - 2]))
        .expect("the samples broadcast");
    let batch: Vec<usize> = batch.iter().filter_map(|dim| dim.value()).collect();
    let stacked = |x: &Tensor, rows: usize, columns: usize| -> Vec<f64> {
        let dims: Vec<usize> = batch.iter().copied().chain([rows, columns]).collect();
        x.expand(&dims).expect("the samples broadcast").to_f64s()
    };
    let (left, right) = (stacked(&a, m, k), stacked(&b, k, n));
    let count: usize = batch.iter().product();
    let mut elements = Vec::new();
    for i in 0..count * m * n {
        let (stack, row, column) = (i / (m * n), i / n % m, i % n);
        let term = |j: usize| left[(stack * m + row) * k + j] * right[(stack * k + j) * n + column];
        elements.push((0..k).map(term).sum());
    }
    f64s(&elements, &sizes)
}
