//! Rows of a table by number.

use fluvial_core::{Error, Result, no_grad};
use fluvial_ops::net::EmbeddingOptions;
use fluvial_ops::{embedding, renormalise_rows};

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
    pub Embedding = "Embedding";
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
        let (ids, weight) = (with.x()?, with.needed("weight")?);
        if let Some(norm) = self.max_norm {
            let shortened = {
                let _no_grad = no_grad();
                renormalise_rows(&weight.get()?, ids, norm, self.norm_type)?
            };
            weight.set(&shortened)?;
        }
        let options = EmbeddingOptions { padding_idx: self.padding_idx, ..Default::default() };
        Ok(embedding(ids, &weight.get()?, options)?.into())
    }
}
