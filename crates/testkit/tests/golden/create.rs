use fluvial_core::{DType, Dim, Result, Var};
use fluvial_ops::*;
use fluvial_testkit::Golden;
use fluvial_testkit::golden::Given;

fn check(function: &'static str, least: usize) -> impl Fn(fn(&Given<'_>) -> Found) {
    move |f| Golden::new("create", function).check(least, f)
}

type Found = Result<Vec<Var>>;

fn dtype(c: &Given<'_>) -> DType {
    DType::parse(c.text("dtype")).expect("an element type")
}

fn dims(c: &Given<'_>) -> Vec<Dim> {
    c.sizes("dims").into_iter().map(Dim::size).collect()
}

fn size(c: &Given<'_>, name: &str) -> Dim {
    Dim::size(c.size(name))
}

#[test]
fn one_number_everywhere() {
    check("full", 8)(|c| Ok(vec![full(&dims(c), c.float("value"), dtype(c))?]));
    check("zeros", 8)(|c| Ok(vec![zeros(&dims(c), dtype(c))?]));
    check("ones", 8)(|c| Ok(vec![ones(&dims(c), dtype(c))?]));
    check("full_like", 3)(|c| Ok(vec![full_like(c.x(0), c.float("value"))?]));
    check("zeros_like", 3)(|c| Ok(vec![zeros_like(c.x(0))?]));
    check("ones_like", 3)(|c| Ok(vec![ones_like(c.x(0))?]));
}

#[test]
fn numbers_at_equal_distances() {
    check("arange", 13)(|c| {
        Ok(vec![arange(c.float("start"), c.float("stop"), c.float("step"), dtype(c))?])
    });
    check("iota", 6)(|c| Ok(vec![iota(size(c, "size"), dtype(c))?]));
    check("linspace", 5)(|c| {
        Ok(vec![linspace(c.float("start"), c.float("stop"), size(c, "size"), dtype(c))?])
    });
}

#[test]
fn matrices() {
    check("eye", 10)(|c| Ok(vec![eye(size(c, "rows"), size(c, "columns"), c.int("k"), dtype(c))?]));
    check("one_hot", 4)(|c| Ok(vec![one_hot(c.x(0), size(c, "classes"))?]));
    check("tril", 7)(|c| Ok(vec![tril(c.x(0), c.int("k"))?]));
    check("triu", 7)(|c| Ok(vec![triu(c.x(0), c.int("k"))?]));
    check("meshgrid", 8)(|c| meshgrid(&c.all(), c.text("indexing").parse()?));
}
