use fluvial_core::{DType, PerAxis, Result, Tensor, Var};
use fluvial_ops::*;
use fluvial_testkit::Golden;
use fluvial_testkit::golden::Given;

use crate::per_axis;

fn max_options(c: &Given<'_>) -> MaxPoolOptions {
    MaxPoolOptions {
        stride: per_axis(c, "stride", PerAxis::default()),
        padding: per_axis(c, "padding", 0),
        dilation: per_axis(c, "dilation", 1),
        ceil_mode: c.flag("ceil_mode"),
    }
}

fn kernel(c: &Given<'_>) -> PerAxis {
    per_axis(c, "kernel", 0)
}

#[test]
fn max_pools() {
    type Pool = fn(&Var, PerAxis, MaxPoolOptions) -> Result<Var>;
    let check = |name, least, pool: Pool| {
        Golden::new("pool", name)
            .check(least, |c| Ok(vec![pool(c.x(0), kernel(c), max_options(c))?]));
    };
    check("max_pool1d", 12, max_pool1d);
    check("max_pool2d", 7, max_pool2d);
    check("max_pool3d", 3, max_pool3d);
}

#[test]
fn max_pools_with_indices() {
    type Pool = fn(&Var, PerAxis, MaxPoolOptions) -> Result<(Var, Var)>;
    let check = |name, least, pool: Pool| {
        Golden::new("pool", name).check(least, |c| {
            let (values, places) = pool(c.x(0), kernel(c), max_options(c))?;
            Ok(vec![values, places])
        });
    };
    check("max_pool1d_with_indices", 10, max_pool1d_with_indices);
    check("max_pool2d_with_indices", 7, max_pool2d_with_indices);
    check("max_pool3d_with_indices", 3, max_pool3d_with_indices);
}

#[test]
fn max_unpools() {
    type Unpool = fn(&Var, &Var, PerAxis, MaxUnpoolOptions) -> Result<Var>;
    let check = |name, least, unpool: Unpool| {
        Golden::new("pool", name).check(least, |c| {
            let options = MaxUnpoolOptions {
                stride: per_axis(c, "stride", PerAxis::default()),
                padding: per_axis(c, "padding", 0),
                size: if c.has("size") { c.sizes("size") } else { Vec::new() },
            };
            Ok(vec![unpool(c.x(0), c.x(1), kernel(c), options)?])
        });
    };
    check("max_unpool1d", 3, max_unpool1d);
    check("max_unpool2d", 3, max_unpool2d);
    check("max_unpool3d", 1, max_unpool3d);
}

#[test]
fn avg_pools() {
    type Pool = fn(&Var, PerAxis, AvgPoolOptions) -> Result<Var>;
    let check = |name, least, pool: Pool| {
        Golden::new("pool", name).check(least, |c| {
            let options = AvgPoolOptions {
                stride: per_axis(c, "stride", PerAxis::default()),
                padding: per_axis(c, "padding", 0),
                ceil_mode: c.flag("ceil_mode"),
                count_include_pad: !c.has("count_include_pad") || c.flag("count_include_pad"),
                divisor: c.has("divisor").then(|| c.size("divisor")),
            };
            Ok(vec![pool(c.x(0), kernel(c), options)?])
        });
    };
    check("avg_pool1d", 7, avg_pool1d);
    check("avg_pool2d", 6, avg_pool2d);
    check("avg_pool3d", 4, avg_pool3d);
}

#[test]
fn lp_pools() {
    type Pool = fn(&Var, f64, PerAxis, LpPoolOptions) -> Result<Var>;
    let check = |name, least, pool: Pool| {
        Golden::new("pool", name).check(least, |c| {
            let options = LpPoolOptions {
                stride: per_axis(c, "stride", PerAxis::default()),
                ceil_mode: c.flag("ceil_mode"),
            };
            Ok(vec![pool(c.x(0), c.float("p"), kernel(c), options)?])
        });
    };
    check("lp_pool1d", 4, lp_pool1d);
    check("lp_pool2d", 3, lp_pool2d);
    check("lp_pool3d", 2, lp_pool3d);
}

#[test]
fn adaptive_pools() {
    type Pool = fn(&Var, PerAxis) -> Result<Var>;
    let check = |name, least, pool: Pool| {
        Golden::new("pool", name)
            .check(least, |c| Ok(vec![pool(c.x(0), c.sizes("sizes").into())?]));
    };
    check("adaptive_avg_pool1d", 4, adaptive_avg_pool1d);
    check("adaptive_avg_pool2d", 3, adaptive_avg_pool2d);
    check("adaptive_avg_pool3d", 2, adaptive_avg_pool3d);
    check("adaptive_max_pool1d", 4, adaptive_max_pool1d);
    check("adaptive_max_pool2d", 3, adaptive_max_pool2d);
    check("adaptive_max_pool3d", 2, adaptive_max_pool3d);
}

#[test]
fn global_pools() {
    Golden::new("pool", "global_avg_pool").check(3, |c| Ok(vec![global_avg_pool(c.x(0))?]));
    Golden::new("pool", "global_max_pool").check(3, |c| Ok(vec![global_max_pool(c.x(0))?]));
}

#[test]
fn faults_name_the_function_and_the_numbers() {
    let x = |dims: &[usize]| Var::new(Tensor::zeros(DType::F32, dims).unwrap());
    let text = |result: Result<Var>| result.unwrap_err().to_string();
    let fault = text(max_pool2d(&x(&[1, 1, 3, 9]), 4usize.into(), MaxPoolOptions::default()));
    assert!(fault.contains("a kernel of 4") && fault.contains("axis 0 has 3"), "{fault}");
    let fault = text(max_pool2d(&x(&[1, 1, 3, 9]), [1, 2, 3].into(), MaxPoolOptions::default()));
    assert!(fault.contains("max_pool2d(") && fault.contains("for 2 axes"), "{fault}");
    let fault = text(adaptive_avg_pool2d(&x(&[3, 9]), 2usize.into()));
    assert!(fault.contains("adaptive_avg_pool2d("), "{fault}");
    let fault = text(global_avg_pool(&x(&[3, 9])));
    assert!(fault.contains("expected [batch, channels, ..]"), "{fault}");
    let fault = text(lp_pool1d(&x(&[1, 9]), 0.0, 2usize.into(), LpPoolOptions::default()));
    assert!(fault.contains("0 is not a power of a norm"), "{fault}");
}
