use fluvial_core::{Result, Var};
use fluvial_ops::*;
use fluvial_testkit::Golden;
use fluvial_testkit::golden::Given;

type Found = Result<Vec<Var>>;

fn check(function: &'static str, least: usize) -> impl Fn(fn(&Given<'_>) -> Found) {
    move |f| Golden::new("reduce", function).check(least, f)
}

/// A function of a value, axes, and whether they stay.
fn over(
    function: &'static str,
    least: usize,
    f: impl Fn(&Given<'_>, &Var, &[i64], bool) -> Result<Var>,
) {
    Golden::new("reduce", function)
        .check(least, |c| Ok(vec![f(c, c.x(0), &c.ints("axes"), c.flag("keepdims"))?]));
}

fn pair((a, b): (Var, Var)) -> Found {
    Ok(vec![a, b])
}

#[test]
fn sums_and_products() {
    over("sum", 27, |_, x, axes, keep| sum(x, axes, keep));
    over("mean", 24, |_, x, axes, keep| mean(x, axes, keep));
    over("prod", 60, |_, x, axes, keep| prod(x, axes, keep));
    over("count_nonzero", 40, |_, x, axes, keep| count_nonzero(x, axes, keep));
}

#[test]
fn extremes() {
    over("max", 40, |_, x, axes, keep| max(x, axes, keep));
    over("min", 40, |_, x, axes, keep| min(x, axes, keep));
    check("argmax", 9)(|c| Ok(vec![argmax(c.x(0), c.int("axis"), c.flag("keepdims"))?]));
    check("argmin", 9)(|c| Ok(vec![argmin(c.x(0), c.int("axis"), c.flag("keepdims"))?]));
}

#[test]
fn truth() {
    over("any", 30, |_, x, axes, keep| any(x, axes, keep));
    over("all", 30, |_, x, axes, keep| all(x, axes, keep));
}

#[test]
fn spread() {
    over("var", 40, |c, x, axes, keep| var(x, axes, keep, c.float("correction")));
    over("std", 40, |c, x, axes, keep| std(x, axes, keep, c.float("correction")));
}

#[test]
fn logarithms_of_sums() {
    over("logsumexp", 20, |_, x, axes, keep| logsumexp(x, axes, keep));
}

#[test]
fn norms() {
    over("norm", 60, |c, x, axes, keep| norm(x, c.float("p"), axes, keep));
}

#[test]
fn elements_by_rank() {
    over("median", 20, |_, x, axes, keep| median(x, axes, keep));
    over("quantile", 30, |c, x, axes, keep| {
        quantile(x, c.float("q"), axes, keep, c.text("method").parse()?)
    });
    over("quantiles", 40, |c, x, axes, keep| {
        quantiles(x, &c.floats("q"), axes, keep, c.text("method").parse()?)
    });
}

#[test]
fn running_results() {
    check("cumsum", 8)(|c| Ok(vec![cumsum(c.x(0), c.int("axis"))?]));
    check("cumprod", 15)(|c| Ok(vec![cumprod(c.x(0), c.int("axis"))?]));
    check("logcumsumexp", 8)(|c| Ok(vec![logcumsumexp(c.x(0), c.int("axis"))?]));
    check("linear_scan", 5)(|c| Ok(vec![linear_scan(c.x(0), c.x(1), c.int("axis"))?]));
    check("cummax", 10)(|c| pair(cummax(c.x(0), c.int("axis"))?));
    check("cummin", 10)(|c| pair(cummin(c.x(0), c.int("axis"))?));
}

#[test]
fn order() {
    check("argsort", 24)(|c| Ok(vec![argsort(c.x(0), c.int("axis"), c.flag("descending"))?]));
    check("sort", 24)(|c| pair(sort(c.x(0), c.int("axis"), c.flag("descending"))?));
    check("topk", 20)(|c| pair(topk(c.x(0), c.size("k"), c.int("axis"), c.flag("largest"))?));
    check("searchsorted", 8)(|c| Ok(vec![searchsorted(c.x(0), c.x(1), c.flag("right"))?]));
}

#[test]
fn counting() {
    check("unique", 5)(|c| {
        let (values, inverse, counts) = unique(c.x(0))?;
        Ok(vec![values, inverse, counts])
    });
    check("bincount", 8)(|c| Ok(vec![bincount(c.x(0), c.option(1), c.size("minlength"))?]));
    check("histogram", 4)(|c| {
        let (counts, ends) = histogram(c.x(0), c.size("bins"), c.float("low"), c.float("high"))?;
        // The ends are f64 whatever the elements are; the file's numbers follow the elements.
        Ok(vec![counts, cast(&ends, c.x(0).dtype())?])
    });
}
