use fluvial_core::{Dim, Result, Var, Whole};
use fluvial_ops::*;
use fluvial_testkit::Golden;
use fluvial_testkit::golden::Given;

fn check(function: &'static str, least: usize, f: impl Fn(&Given<'_>) -> Result<Var>) {
    Golden::new("shape", function).check(least, |c| Ok(vec![f(c)?]));
}

fn plain(sizes: &[usize]) -> Vec<Dim> {
    sizes.iter().map(|&size| Dim::size(size)).collect()
}

/// Sizes, of which -1 is what the others leave.
fn dims(c: &Given<'_>) -> Vec<Dim> {
    let dim = |size| usize::try_from(size).map_or(Dim::REST, Dim::size);
    c.ints("shape").into_iter().map(dim).collect()
}

#[test]
fn other_sizes() {
    check("reshape", 8, |c| reshape(c.x(0), &dims(c)));
    check("flatten", 6, |c| flatten(c.x(0), c.int("start"), c.int("end")));
    check("squeeze", 5, |c| squeeze(c.x(0), &c.ints("axes")));
    check("unsqueeze", 7, |c| unsqueeze(c.x(0), c.int("axis")));
    check("broadcast_to", 6, |c| broadcast_to(c.x(0), &dims(c)));
    Golden::new("shape", "broadcast_tensors").check(3, |c| broadcast_tensors(&c.all()));
}

#[test]
fn other_orders() {
    check("transpose", 5, |c| transpose(c.x(0), c.int("a"), c.int("b")));
    check("permute", 4, |c| permute(c.x(0), &c.ints("order")));
    check("movedim", 5, |c| movedim(c.x(0), &c.ints("source"), &c.ints("target")));
    check("flip", 6, |c| flip(c.x(0), &c.ints("axes")));
    check("roll", 9, |c| {
        let shifts: Vec<Whole> = c.ints("shifts").into_iter().map(Whole::from).collect();
        roll(c.x(0), &shifts, &c.ints("axes"))
    });
    check("rot90", 6, |c| rot90(c.x(0), c.int("turns"), &c.ints("axes")));
}

#[test]
fn pieces() {
    check("concat", 4, |c| concat(&c.all(), c.int("axis")));
    check("stack", 5, |c| stack(&c.all(), c.int("axis")));
    check("slice", 12, |c| {
        let optional = |name| c.has(name).then(|| c.int(name));
        slice(c.x(0), c.int("axis"), optional("start"), optional("stop"), c.int("step"))
    });
    let several = |function, least, f: fn(&Given<'_>) -> Result<Vec<Var>>| {
        Golden::new("shape", function).check(least, f);
    };
    several("split", 4, |c| split(c.x(0), &plain(&c.sizes("sizes")), c.int("axis")));
    several("chunk", 5, |c| chunk(c.x(0), c.size("count"), c.int("axis")));
    several("unbind", 4, |c| unbind(c.x(0), c.int("axis")));
}

#[test]
fn repetition() {
    check("tile", 7, |c| tile(c.x(0), &plain(&c.sizes("repeats"))));
    check("repeat_interleave", 5, |c| repeat_interleave(c.x(0), c.size("repeats"), c.int("axis")));
    check("repeat_interleave_counts", 4, |c| {
        repeat_interleave_counts(c.x(0), c.x(1), c.int("axis"))
    });
}

#[test]
fn padding() {
    check("pad", 30, |c| {
        let options = PadOptions { mode: c.text("mode").parse()?, value: c.float("value").into() };
        pad(c.x(0), &c.ints("before"), &c.ints("after"), options)
    });
}

#[test]
fn diagonals_and_windows() {
    check("diag", 8, |c| diag(c.x(0), c.int("offset")));
    check("diagonal", 7, |c| diagonal(c.x(0), c.int("offset"), c.int("a"), c.int("b")));
    check("diag_embed", 4, |c| diag_embed(c.x(0), c.int("offset"), c.int("a"), c.int("b")));
    check("unfold_axis", 7, |c| unfold_axis(c.x(0), c.int("axis"), c.size("size"), c.size("step")));
    check("fold_axis", 7, |c| {
        fold_axis(c.x(0), c.int("axis"), Dim::size(c.size("size")), c.size("step"))
    });
}
