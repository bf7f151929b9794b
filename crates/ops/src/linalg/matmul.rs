//! `matmul`: the matrix product.

use crate::prelude::*;
use crate::shape::permute;

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
    bind1(Matmul {}, &[a, b])
}

attributes! {
    /// The op behind [`matmul`].
    pub struct Matmul = "matmul" {}
}

/// The dims of an operand as a stack of matrices.
fn as_matrices(dims: &[Dim], left: bool) -> SmallVec<[Dim; 8]> {
    let one = Dim::size(1);
    match (dims, left) {
        (&[n], true) => smallvec![one, n],
        (&[n], false) => smallvec![n, one],
        _ => dims.into(),
    }
}

impl Op for Matmul {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (a, b) = (inputs[0], inputs[1]);
        if a.is_list() || b.is_list() || a.rank() == 0 || b.rank() == 0 {
            return Err(Error::shape("expected matrices or vectors")
                .remedy("use `mul` to multiply by a number"));
        }
        let dtype = a.dtype().promote(b.dtype());
        if dtype.is_bool() {
            return Err(Error::dtype("bools are not numbers here").remedy("cast them first"));
        }
        let (left, right) = (as_matrices(a.dims(), true), as_matrices(b.dims(), false));
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

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (mut a, mut b) = (inputs[0].tensor()?.clone(), inputs[1].tensor()?.clone());
        if a.rank() == 1 {
            a = a.unsqueeze(0)?;
        }
        if b.rank() == 1 {
            b = b.unsqueeze(1)?;
        }
        let product = kernels::matmul(&a, &b, outs[0].dtype())?;
        Ok(smallvec![product.reshape(&known_sizes(&outs[0])?)?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OTHERS, |p| {
            let (of_left, of_right) = (|| gradient(p, true), || gradient(p, false));
            grads![p => of_left(), of_right()]
        })
    }

    fn properties(&self) -> Properties {
        // Cotangents of broadcast operands are summed to their shapes by the reverse walk.
        Properties { broadcasts: true, ..Properties::PURE }
    }
}

/// The cotangent of one operand, before broadcasting is undone.
fn gradient(p: &Pull<'_>, left: bool) -> Result<Var> {
    let own = p.in_type(if left { 0 } else { 1 })?;
    let other = p.x(if left { 1 } else { 0 });
    let (a_rank, b_rank) =
        if left { (own.rank(), other.rank()) } else { (other.rank(), own.rank()) };
    let mut dy = p.dy();
    if b_rank == 1 {
        dy = unsqueeze(&dy, dy.rank())?;
    }
    if a_rank == 1 {
        dy = unsqueeze(&dy, dy.rank() - 1)?;
    }
    let other = match other.rank() {
        1 if left => unsqueeze(&other, 1)?,
        1 => unsqueeze(&other, 0)?,
        _ => other,
    };
    let product = match left {
        true => matmul(&dy, &swap_last(&other)?)?,
        false => matmul(&swap_last(&other)?, &dy)?,
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

fn swap_last(x: &Var) -> Result<Var> {
    let rank = x.rank();
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    axes.swap(rank - 2, rank - 1);
    permute(x, &axes)
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
            Sample::new(Matmul {}, [a, b]).gives([expected])
        })
        .collect();
    samples.push(Sample::new(Matmul {}, [ramp(&[2, 3]), ramp(&[2, 3])]).refused("inner sizes"));
    samples.push(Sample::new(Matmul {}, [ramp(&[2, 3]), ramp(&[])]).refused("expected matrices"));
    samples.push(
        Sample::new(Matmul {}, [ramp(&[2, 2, 3]), ramp(&[3, 3, 2])]).refused("do not broadcast"),
    );
    samples
});

/// The product by its definition, for the samples.
fn naive(a: &Tensor, b: &Tensor) -> Tensor {
    let types = (a.ty(), b.ty());
    let out = Matmul {}.infer(&[&types.0, &types.1]).expect("the samples fit");
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
