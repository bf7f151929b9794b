//! Rows of a table by number.

use fluvial_core::structural::fill;
use fluvial_core::{DType, Dim, Error, Result, Type, Var, choices, no_grad};
use fluvial_ops::net::EmbeddingOptions;
use fluvial_ops::{
    ScatterReduction, cast, embedding, eq, index_add, index_reduce, iota, max, maximum, narrow, ne,
    renormalise_rows, searchsorted, sum, unsqueeze, where_,
};

use crate::init::Initializer;
use crate::nn::stated::{Call, Parts, Statement, Value, layer};

layer! {
    /// The rows of a trained table at the numbers that are its input. `weight` is `[count, width]`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = Embedding::new("words", 10, 3).padding_idx(0);
    /// let rows = layer.forward(&Var::of(&[0i64, 7], &[2])?)?;
    /// assert_eq!(rows.to_vec::<f32>()?[..3], [0.0; 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.Embedding(10, 4)(fl.tensor([[1, 2, 3]])).shape
    /// (1, 3, 4)
    /// ```
    pub Embedding = "Embedding" extends Table;
    EmbeddingSpec {
        /// The number of rows.
        count | num_embeddings: usize,
        /// The size of a row.
        width | embedding_dim: usize,
        /// The number of a row that begins as zeros, unless an attribute says how rows begin, and is
        /// not trained; negative ones count from the back.
        padding_idx: Option<i64> = None,
        /// Rows that are used and longer are shortened to this norm; the table changes.
        max_norm: Option<f64> = None,
        /// The power of that norm.
        norm_type: f64 = 2.0,
    }
    new(at, count, width)
    attrs(weight_attr)
    parts(weight)
    forward(ids) -> Tensor
}

impl Statement for EmbeddingSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        let normal = Initializer::normal(0.0, 1.0);
        let count = self.count as i64;
        let init = match self.padding_idx {
            Some(idx) if !(-count..count).contains(&idx) => {
                let what = format!("the padding's number {idx} is none of {count} rows");
                return Err(Error::index(what));
            }
            Some(idx) => normal.zero_row(idx),
            None => normal,
        };
        parts.parameter("weight", "weight_attr", vec![self.count, self.width], init);
        Ok(())
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        Ok(rows(with, self.max_norm, self.norm_type, self.padding_idx)?.into())
    }
}

/// The rows of the table at the first input.
fn rows(with: &Call<'_>, max_norm: Option<f64>, p: f64, padding: Option<i64>) -> Result<Var> {
    let (ids, weight) = (with.x()?, with.needed("weight")?);
    if let Some(norm) = max_norm {
        let shortened = {
            let _no_grad = no_grad();
            renormalise_rows(&weight.get()?, ids, norm, p)?
        };
        weight.set(&shortened)?;
    }
    let options = EmbeddingOptions { padding_idx: padding, ..Default::default() };
    embedding(ids, &weight.get()?, options)
}

choices! {
    /// What becomes of the rows of a bag.
    pub enum BagMode {
        /// Their sum.
        Sum = "sum",
        /// Their mean.
        Mean = "mean",
        /// The largest of each column.
        Max = "max",
    }
}

layer! {
    /// The rows of a trained table, of which those of each bag are added up. Numbers are `[bags, count]`, or stand one
    /// after the other, with the place where each bag begins as `offsets`. `weight` is `[count, width]`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = EmbeddingBag::new("words", 10, 3);
    /// let y = layer.forward(&Var::of(&[0i64, 7, 2, 4], &[2, 2])?)?;
    /// assert_eq!(y.ty().to_string(), "f32[2, 3]");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> layer = fl.nn.EmbeddingBag.from_pretrained(fl.tensor([[1.0], [2.0], [4.0]]), mode="sum")
    /// >>> layer(fl.tensor([0, 1, 2]), fl.tensor([0, 1])).tolist()
    /// [[1.0], [6.0]]
    /// ```
    pub EmbeddingBag = "EmbeddingBag" extends Table;
    EmbeddingBagSpec {
        /// The number of rows.
        count | num_embeddings: usize,
        /// The size of a row.
        width | embedding_dim: usize,
        /// Rows that are used and longer are shortened to this norm; the table changes.
        max_norm: Option<f64> = None,
        /// The power of that norm.
        norm_type: f64 = 2.0,
        /// Whether gradients are divided by how often a row is used, which this layer cannot.
        scale_grad_by_freq: bool = false,
        /// What becomes of the rows of a bag.
        mode: BagMode = BagMode::Mean,
        /// Taken and without effect: see `SparseAdam`, and `lookup` of optimizers.
        sparse: bool = false,
        /// Whether the last of `offsets` is the number of all ids.
        include_last_offset: bool = false,
        /// The number of a row that counts in no bag and is not trained; negative ones count from the back.
        padding_idx: Option<i64> = None,
    }
    new(at, count, width)
    attrs(weight_attr)
    parts(weight)
    forward(ids | input, offsets: Option, weights | per_sample_weights: Option) -> Tensor
}

impl Statement for EmbeddingBagSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        if self.scale_grad_by_freq {
            return Err(Error::argument("gradients are not divided by how often a row is used")
                .remedy("leave `scale_grad_by_freq` out"));
        }
        let (count, width, padding_idx) = (self.count, self.width, self.padding_idx);
        EmbeddingSpec { count, width, padding_idx, ..Default::default() }.declare(parts)
    }

    fn is_function_of_one(&self) -> bool {
        true
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (ids, offsets, weights) = (with.x()?, with.given(1), with.given(2));
        if weights.is_some() && self.mode != BagMode::Sum {
            return Err(Error::argument("only sums of rows have weights").remedy("use mode \"sum\""));
        }
        match (ids.rank(), offsets.is_some()) {
            (2, false) | (1, true) => {}
            (rank, _) => {
                let what = format!("numbers of {rank} axes for bags");
                return Err(Error::shape(what)
                    .remedy("give [bags, count] without `offsets`, or one axis with them"));
            }
        }
        let mut found = rows(with, self.max_norm, self.norm_type, self.padding_idx)?;
        if let Some(weights) = weights {
            found = (found * unsqueeze(weights, -1)?).check()?;
        }
        let counts = match self.padding_idx {
            Some(idx) => {
                let padding = if idx < 0 { idx + self.count as i64 } else { idx };
                ne(ids, &Var::scalar(padding))?
            }
            None => eq(ids, ids)?,
        };
        let none = match self.mode {
            BagMode::Max => f64::NEG_INFINITY,
            _ => 0.0,
        };
        let none = fill(none, &Type::scalar(found.dtype()))?;
        let found = where_(&unsqueeze(&counts, -1)?, &found, &none)?;
        let counts = cast(&counts, found.dtype())?;
        let (bags, counts) = match offsets {
            None => match self.mode {
                BagMode::Max => (max(&found, &[1], false)?, sum(&counts, &[1], false)?),
                _ => (sum(&found, &[1], false)?, sum(&counts, &[1], false)?),
            },
            Some(offsets) => self.by_offsets(offsets, &found, &counts)?,
        };
        let counts = unsqueeze(&counts, -1)?;
        let one = fill(1.0, &Type::scalar(counts.dtype()))?;
        Ok(match self.mode {
            BagMode::Sum => bags.into(),
            BagMode::Mean => (bags / maximum(&counts, &one)?).check()?.into(),
            BagMode::Max => {
                let zero = fill(0.0, &Type::scalar(counts.dtype()))?;
                where_(&eq(&counts, &zero)?, &zero, &bags)?.into()
            }
        })
    }
}

impl EmbeddingBagSpec {
    /// The rows of each bag together, and how many they are.
    fn by_offsets(&self, offsets: &Var, found: &Var, counts: &Var) -> Result<(Var, Var)> {
        let (n, given) = (found.ty().dim(0), offsets.ty().dim(0));
        let n_bags = match self.include_last_offset {
            true => given.sub(Dim::size(1))?,
            false => given,
        };
        let begins = narrow(offsets, 0, Dim::size(0), n_bags)?;
        let at = searchsorted(&begins, &iota(n, DType::I64)?, true)?;
        let at = (at - Var::scalar(1i64)).check()?;
        let totals = index_add(counts, &at, 0, n_bags)?;
        let bags = match self.mode {
            BagMode::Max => {
                let lowest = Type::new(found.dtype(), &[n_bags, Dim::size(self.width)])?;
                let lowest = fill(f64::NEG_INFINITY, &lowest)?;
                index_reduce(&lowest, &at, found, 0, ScatterReduction::Max)?
            }
            _ => index_add(found, &at, 0, n_bags)?,
        };
        Ok((bags, totals))
    }
}
