//! What loops over readers need, for the batches that their files give now.

use fluvial_core::{Dim, Result, Type};
use fluvial_data::Reader;

use super::{Kind, Plan};

impl Plan {
    /// Makes the plans of loops over readers that a run would make: for whole batches, and for the last one. A reader
    /// that cannot be opened now leaves its loop open.
    pub(crate) fn learn_readers(&self) -> Result<()> {
        for step in &self.steps {
            let Kind::Blocks(bodies) = &step.kind else { continue };
            let batches = step.op.reader().map_or(Vec::new(), batches);
            for body in bodies {
                let mut n_planned = 0;
                for batch in &batches {
                    let Ok(sizes) = body.sizes(&self.known, batch.iter().copied()) else {
                        continue;
                    };
                    body.plan(&sizes)?;
                    n_planned += 1;
                }
                if n_planned > 0 && n_planned == batches.len() {
                    body.learnt();
                }
                body.plans().iter().try_for_each(|plan| plan.learn_readers())?;
            }
        }
        Ok(())
    }
}

/// The types of what a reader gives, for each number of samples in a batch, the smallest first.
pub(crate) fn batches(reader: &str) -> Vec<Vec<Type>> {
    let Some(open) = reader.parse::<Reader>().ok().and_then(|reader| reader.open().ok()) else {
        return Vec::new();
    };
    let fields: Vec<Type> = open.fields().iter().map(|field| field.ty).collect();
    let rows = fields.first().and_then(|ty| ty.dims().first().copied());
    let Some(rows) = rows.filter(|rows| rows.symbol_name().is_some()) else {
        return vec![fields];
    };
    let of_size = |&size: &u64| {
        let size = |symbol: Dim| (symbol == rows).then(|| Dim::size(size as usize));
        fields.iter().map(|ty| ty.substitute(&size).ok()).collect::<Option<Vec<Type>>>()
    };
    open.batch_sizes().iter().rev().filter_map(of_size).collect()
}
