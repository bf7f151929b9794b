use fluvial_core::{Dim, Result, Var};
use fluvial_ops::*;
use fluvial_testkit::Golden;
use fluvial_testkit::golden::Given;
use serde_json::Value as Json;

fn check(function: &'static str, least: usize, f: impl Fn(&Given<'_>) -> Result<Var>) {
    Golden::new("index", function).check(least, |c| Ok(vec![f(c)?]));
}

fn size(c: &Given<'_>) -> Dim {
    Dim::size(c.size("size"))
}

fn shape(c: &Given<'_>) -> Vec<Dim> {
    c.sizes("shape").into_iter().map(Dim::size).collect()
}

/// The index as the file has it: ints, slices, "...", null, and numbers of inputs.
fn index(c: &Given<'_>) -> Vec<Index> {
    let part = |part: &Json| match part {
        Json::Number(position) => Index::from(position.as_i64().expect("an integer")),
        Json::Null => Index::NewAxis,
        Json::String(_) => Index::Ellipsis,
        part => match (part["slice"].as_array(), part["tensor"].as_u64()) {
            (Some(slice), _) => Index::steps(
                slice[0].as_i64(),
                slice[1].as_i64(),
                slice[2].as_i64().expect("an integer"),
            ),
            (_, Some(input)) => Index::from(c.x(input as usize)),
            _ => panic!("{part} is not part of an index"),
        },
    };
    c.json("index").as_array().expect("a list").iter().map(part).collect()
}

#[test]
fn indexing() {
    check("getitem", 60, |c| getitem(c.x(0), &index(c)));
    let broadcast_masks = Golden::new("index", "getitem_imperative").imperative_only();
    broadcast_masks.check(2, |c| Ok(vec![getitem(c.x(0), &index(c))?]));
    check("setitem", 40, |c| setitem(c.x(0), &index(c), c.x(1)));
}

#[test]
fn along_one_axis() {
    check("gather", 5, |c| gather(c.x(0), c.x(1), c.int("axis")));
    check("index_select", 3, |c| index_select(c.x(0), c.int("axis"), c.x(1)));
    check("index_add", 3, |c| index_add(c.x(0), c.x(1), c.int("axis"), size(c)));
    check("index_put", 3, |c| index_put(c.x(0), c.x(1), c.x(2), c.int("axis")));
    check("narrow", 3, |c| narrow(c.x(0), c.int("axis"), Dim::size(c.size("start")), size(c)));
    check("scatter_slice", 3, |c| {
        scatter_slice(c.x(0), c.int("axis"), size(c), Dim::size(c.size("start")), c.int("step"))
    });
}

#[test]
fn by_element() {
    check("take_along_axis", 9, |c| take_along_axis(c.x(0), c.x(1), c.int("axis")));
    check("scatter", 6, |c| scatter(c.x(0), c.int("axis"), c.x(1), c.x(2)));
    check("scatter_add", 5, |c| scatter_add(c.x(0), c.int("axis"), c.x(1), c.x(2)));
    check("scatter_reduce", 17, |c| {
        scatter_reduce(c.x(0), c.int("axis"), c.x(1), c.x(2), c.text("reduction").parse()?)
    });
    check("put", 6, |c| put(c.x(0), c.x(1), c.x(2)));
}

#[test]
fn on_several_axes() {
    check("gather_nd", 6, |c| gather_nd(c.x(0), c.x(1)));
    check("scatter_nd", 5, |c| scatter_nd(c.x(0), c.x(1), &shape(c)));
    check("scatter_nd_add", 5, |c| scatter_nd_add(c.x(0), c.x(1), c.x(2)));
    check("scatter_nd_update", 5, |c| scatter_nd_update(c.x(0), c.x(1), c.x(2)));
}

#[test]
fn by_mask() {
    check("masked_fill", 6, |c| masked_fill(c.x(0), c.x(1), c.float("value")));
    check("masked_select", 7, |c| masked_select(c.x(0), c.x(1)));
    check("argwhere", 4, |c| argwhere(c.x(0)));
    Golden::new("index", "nonzero").check(4, |c| nonzero(c.x(0)));
    Golden::new("index", "split_rows").check(1, |c| {
        let (yes, no) = split_rows(c.x(0), c.x(1))?;
        Ok(vec![yes, no])
    });
    check("merge_rows", 1, |c| merge_rows(c.x(0), c.x(1), c.x(2)));
}

#[test]
fn numbers_of_elements() {
    check("ravel_multi_index", 2, |c| ravel_multi_index(&c.all(), &shape(c)));
    check("along_index", 2, |c| along_index(c.x(0), c.int("axis"), size(c)));
    check("last_writes", 1, |c| last_writes(c.x(0), size(c)));
    check("repeat_index", 1, |c| repeat_index(c.x(0)));
    check("element_numbers", 1, |c| element_numbers(&shape(c)));
}
