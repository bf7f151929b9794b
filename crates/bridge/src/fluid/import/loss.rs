//! Losses.

use fluvial_core::{DType, Dim, Result, Var};
use fluvial_ops::{self as ops, HuberLossOptions, NllLossOptions, Reduction};

use super::arithmetic::out;
use super::call::Call;
use super::index::ids;
use super::table::{Entry, Outs};
use super::value::Val;
use crate::fit::front;

pub const OPS: &[Entry] = &[
    Entry::one("bce_loss", |c| {
        ops::binary_cross_entropy(&c.var("X")?, &c.var("Label")?, None, Reduction::None)
    }),
    Entry::to("cross_entropy", "Y", cross_entropy),
    Entry::to("cross_entropy2", "Y", cross_entropy),
    Entry::to("hinge_loss", "Loss", |c| {
        let (logits, labels) = (c.var("Logits")?, c.var("Labels")?);
        let signs = (&labels * 2.0 - 1.0).check()?;
        ops::relu(&(1.0 - &ops::mul(&logits, &signs)?).check()?)
    }),
    Entry::one("huber_loss", |c| {
        let options =
            HuberLossOptions::default().reduction(Reduction::None).delta(c.float("delta", 1.0));
        ops::huber_loss(&c.var("X")?, &c.var("Y")?, options)
    }),
    Entry::to("kldiv_loss", "Loss", |c| {
        let (x, target) = (c.var("X")?, c.var("Target")?);
        let zero = target.literal(0.0);
        let each = ops::mul(&target, &ops::sub(&ops::log(&target)?, &x)?)?;
        let each = ops::where_(&ops::gt(&target, &zero)?, &each, &zero)?;
        match c.text("reduction", "mean").as_str() {
            "none" => Ok(each),
            "sum" => ops::sum(&each, &[], false),
            "batchmean" => {
                let rows = ops::dim_size(x.dims()[0], x.dtype())?;
                ops::div(&ops::sum(&each, &[], false)?, &rows)
            }
            _ => ops::mean(&each, &[], false),
        }
    }),
    Entry::one("label_smooth", |c| {
        let (x, eps) = (c.var("X")?, c.float("epsilon", 0.0));
        let kept = (&x * (1.0 - eps)).check()?;
        match c.opt("PriorDist")? {
            Some(prior) => ops::add(&kept, &(&prior * eps).check()?),
            None => {
                let last = *x.dims().last().ok_or_else(|| c.refuse("no classes"))?;
                let classes = ops::dim_size(last, x.dtype())?;
                ops::add(&kept, &(eps / &classes).check()?)
            }
        }
    }),
    Entry::to("log_loss", "Loss", |c| {
        let (p, y, eps) = (c.var("Predicted")?, c.var("Labels")?, c.float("epsilon", 1e-4));
        let yes = ops::mul(&y, &ops::log(&(&p + eps).check()?)?)?;
        let no = ops::mul(&(1.0 - &y).check()?, &ops::log(&(1.0 + eps - &p).check()?)?)?;
        ops::neg(&ops::add(&yes, &no)?)
    }),
    Entry::one("margin_rank_loss", |c| {
        let (label, left, right) = (c.var("Label")?, c.var("X1")?, c.var("X2")?);
        let apart = ops::mul(&label, &ops::sub(&left, &right)?)?;
        ops::relu(&(c.float("margin", 0.0) - &apart).check()?)
    }),
    Entry::one("mse_loss", |c| ops::square_error_cost(&c.var("X")?, &c.var("Y")?)),
    Entry::many("nll_loss", |c| {
        let reduction = match c.text("reduction", "mean").as_str() {
            "none" => Reduction::None,
            "sum" => Reduction::Sum,
            _ => Reduction::Mean,
        };
        let options = NllLossOptions::default()
            .reduction(reduction)
            .ignore_index(c.int("ignore_index", -100));
        let weight = c.opt("Weight")?;
        out(ops::nll_loss(&c.var("X")?, &ids(c, "Label")?, weight.as_ref(), options)?)
    }),
    Entry::one("rank_loss", |c| {
        let apart = ops::sub(&c.var("Left")?, &c.var("Right")?)?;
        let plus = ops::softplus(&apart, 1.0, f64::INFINITY)?;
        ops::sub(&plus, &ops::mul(&c.var("Label")?, &apart)?)
    }),
    Entry::one("sigmoid_cross_entropy_with_logits", |c| {
        let (x, label) = (c.var("X")?, c.var("Label")?);
        let weight = c.opt("pos_weight")?;
        let each = ops::binary_cross_entropy_with_logits(
            &x,
            &label,
            None,
            weight.as_ref(),
            Reduction::None,
        )?;
        let counts = ops::ne(&label, &label.literal(c.int("ignore_index", -100) as f64))?;
        let each = ops::where_(&counts, &each, &each.literal(0.0))?;
        match c.flag("normalize", false) {
            false => Ok(each),
            true => {
                let count = ops::sum(&ops::cast(&counts, x.dtype())?, &[], false)?;
                ops::div(&each, &ops::maximum(&count, &count.literal(1e-5))?)
            }
        }
    }),
    Entry::many("smooth_l1_loss", |c| {
        let (x, y) = (c.var("X")?, c.var("Y")?);
        let sigma = c.float("sigma", 1.0);
        let square = sigma * sigma;
        let mut apart = ops::sub(&x, &y)?;
        if let Some(weight) = c.opt("InsideWeight")? {
            apart = ops::mul(&apart, &weight)?;
        }
        let size = ops::abs(&apart)?;
        let near = (&ops::square(&apart)? * (0.5 * square)).check()?;
        let far = (&size - 0.5 / square).check()?;
        let mut each = ops::where_(&ops::lt(&size, &size.literal(1.0 / square))?, &near, &far)?;
        if let Some(weight) = c.opt("OutsideWeight")? {
            each = ops::mul(&each, &weight)?;
        }
        let axes: Vec<i64> = (1..each.rank() as i64).collect();
        let sums = ops::reshape(&ops::sum(&each, &axes, false)?, &[x.dims()[0], Dim::size(1)])?;
        Ok(vec![("Out", vec![sums.into()]), ("Diff", vec![apart.into()])])
    }),
    Entry::many("softmax_with_cross_entropy", softmax_with_cross_entropy),
    Entry::one("square_error_cost", |c| ops::square_error_cost(&c.var("X")?, &c.var("Y")?)),
    Entry::many("squared_l2_distance", |c| {
        let apart = ops::sub(&c.var("X")?, &c.var("Y")?)?;
        let sums = ops::sum(&ops::square(&apart)?, &[1], true)?;
        Ok(vec![("Out", vec![sums.into()]), ("sub_result", vec![apart.into()])])
    }),
];

/// The losses of rows of logarithms, for labels as numbers or as parts; the axis of the classes has size one then.
fn of_logarithms(c: &Call<'_>, logarithms: &Var, axis: usize) -> Result<Var> {
    let at = [axis as i64];
    if c.flag("soft_label", false) {
        let label = super::value::like(&c.var("Label")?, &logarithms.dims())?;
        return ops::neg(&ops::sum(&ops::mul(&label, logarithms)?, &at, true)?);
    }
    let mut dims = logarithms.dims().to_vec();
    dims[axis] = Dim::size(1);
    let label = super::value::like(&ids(c, "Label")?, &dims)?;
    let ignored = ops::eq(&label, &label.literal(c.int("ignore_index", -100) as f64))?;
    let safe = ops::where_(&ignored, &label.literal(0.0), &label)?;
    let picked = ops::take_along_axis(logarithms, &safe, axis as i64)?;
    ops::where_(&ignored, &picked.literal(0.0), &ops::neg(&picked)?)
}

fn cross_entropy(c: &Call<'_>) -> Result<Var> {
    let x = c.var("X")?;
    let axis = front(-1, x.rank())?;
    of_logarithms(c, &finite_log(&x)?, axis)
}

/// Logarithms, of which that of zero is large and not infinite.
fn finite_log(x: &Var) -> Result<Var> {
    let logarithms = ops::log(x)?;
    let least = if matches!(x.dtype(), DType::F16 | DType::BF16) { -65504.0 } else { -1e20 };
    ops::maximum(&logarithms, &logarithms.literal(least))
}

fn softmax_with_cross_entropy(c: &Call<'_>) -> Result<Outs> {
    let x = c.var("Logits")?;
    let axis = c.axis("axis", -1, x.rank())?;
    let (logarithms, softmax) = match c.flag("use_softmax", true) {
        true => {
            let logarithms = ops::log_softmax(&x, axis as i64)?;
            let softmax = ops::softmax(&x, axis as i64)?;
            (logarithms, softmax)
        }
        false => (finite_log(&x)?, x.clone()),
    };
    let losses = of_logarithms(c, &logarithms, axis)?;
    let lengths = c.val("Logits")?.lengths().to_vec();
    Ok(vec![("Loss", vec![Val::Dense(losses, lengths)]), ("Softmax", vec![softmax.into()])])
}
