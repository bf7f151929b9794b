use fluvial_core::{DType, Program, Result, Tensor, Type, Var};
use fluvial_ops::*;
use fluvial_testkit::{Golden, gradgradcheck};

use crate::per_axis;

#[test]
fn interpolations() {
    Golden::new("image", "interpolate").check(45, |c| {
        let options = InterpolateOptions {
            size: if c.has("size") { c.sizes("size") } else { Vec::new() },
            scale: if c.has("scale") { c.floats("scale") } else { Vec::new() },
            mode: c.text("mode").parse()?,
            align_corners: c.flag("align_corners"),
        };
        Ok(vec![interpolate(c.x(0), options)?])
    });
}

#[test]
fn grid_samples() {
    Golden::new("image", "grid_sample").check(28, |c| {
        let options = GridSampleOptions {
            mode: c.text("mode").parse()?,
            padding_mode: c.text("padding_mode").parse()?,
            align_corners: c.flag("align_corners"),
        };
        Ok(vec![grid_sample(c.x(0), c.x(1), options)?])
    });
}

#[test]
fn shuffles() {
    Golden::new("image", "pixel_shuffle")
        .check(5, |c| Ok(vec![pixel_shuffle(c.x(0), c.size("factor"))?]));
    Golden::new("image", "pixel_unshuffle")
        .check(4, |c| Ok(vec![pixel_unshuffle(c.x(0), c.size("factor"))?]));
    Golden::new("image", "channel_shuffle")
        .check(3, |c| Ok(vec![channel_shuffle(c.x(0), c.size("groups"))?]));
}

#[test]
fn windows_as_columns() {
    Golden::new("image", "unfold").check(6, |c| {
        let options = UnfoldOptions {
            dilation: per_axis(c, "dilation", 1),
            padding: per_axis(c, "padding", 0),
            stride: per_axis(c, "stride", 1),
        };
        Ok(vec![unfold(c.x(0), per_axis(c, "kernel", 0), options)?])
    });
    Golden::new("image", "fold").check(6, |c| {
        let options = FoldOptions {
            dilation: per_axis(c, "dilation", 1),
            padding: per_axis(c, "padding", 0),
            stride: per_axis(c, "stride", 1),
        };
        let size = per_axis(c, "output_size", 0);
        Ok(vec![fold(c.x(0), size, per_axis(c, "kernel", 0), options)?])
    });
}

#[test]
fn one_program_serves_all_sizes() {
    let ty = |text: &str| Type::parse(text).unwrap();
    let zoom = |x: &[Var]| -> Result<Vec<Var>> {
        let twice = InterpolateOptions::default().scale([2.0]).mode(Interpolation::Bilinear);
        let y = interpolate(&x[0], twice)?;
        let options = GridSampleOptions::default().padding_mode(GridPadding::Reflection);
        let read = grid_sample(&y, &x[1], options)?;
        let small = adaptive_avg_pool2d(&pixel_unshuffle(&y, 2)?, 2usize.into())?;
        let columns = unfold(&y, 2usize.into(), UnfoldOptions::default().stride(2usize))?;
        Ok(vec![read, small, columns])
    };
    let types = [("x", ty("f64[n, 2, h, w]")), ("grid", ty("f64[n, a, b, 2]"))];
    let program = Program::build(&types, zoom).unwrap();
    let ramp = |dims: &[usize], by: f64| {
        let count = dims.iter().product::<usize>();
        let elements: Vec<f64> = (0..count).map(|i| (i * 37 % 64) as f64 / by - 2.0).collect();
        Var::new(Tensor::from_slice(&elements, dims).unwrap())
    };
    for (n, h, w) in [(1, 3, 4), (2, 5, 2)] {
        let inputs = [ramp(&[n, 2, h, w], 16.0), ramp(&[n, 2, 3, 2], 16.0)];
        let expected = zoom(&inputs).unwrap();
        let found = program.apply(&inputs.iter().collect::<Vec<_>>()).unwrap();
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.dims(), expected.dims());
            assert_eq!(found.to_vec::<f64>().unwrap(), expected.to_vec::<f64>().unwrap());
        }
    }
}

#[test]
fn gradients_of_gradients() {
    let numbers = |dims: &[usize], low: f64, step: f64| {
        let count = dims.iter().product::<usize>();
        let elements: Vec<f64> = (0..count).map(|i| low + (i * 7 % 12) as f64 * step).collect();
        Tensor::from_slice(&elements, dims).unwrap()
    };
    let image = numbers(&[1, 1, 3, 4], -1.0, 0.2);
    let grid = numbers(&[1, 2, 3, 2], -1.31, 0.243);
    for mode in [GridSampling::Bilinear, GridSampling::Bicubic] {
        for padding in [GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection] {
            let options = GridSampleOptions::default().mode(mode).padding_mode(padding);
            let sample = |x: &[Var]| grid_sample(&x[0], &x[1], options.clone());
            gradgradcheck(sample, &[image.clone(), grid.clone()]);
        }
    }
    let zoom = InterpolateOptions::default().size([4, 3]).mode(Interpolation::Bicubic);
    gradgradcheck(|x| interpolate(&x[0], zoom.clone()), &[image]);
    let positive = numbers(&[1, 2, 4], 0.3, 0.2);
    let norms = |x: &[Var]| lp_pool1d(&x[0], 3.0, 2usize.into(), LpPoolOptions::default());
    gradgradcheck(norms, std::slice::from_ref(&positive));
    let means = |x: &[Var]| adaptive_avg_pool1d(&x[0], 3usize.into());
    gradgradcheck(means, std::slice::from_ref(&positive));
    let longer = ConvTransposeOptions::default().dilation(3usize).padding(1usize);
    let spread = |x: &[Var]| {
        conv_transpose1d(&x[0], &x[1], Some(&x[2]), longer.clone().output_padding(2usize))
    };
    let weight = numbers(&[2, 1, 2], -0.7, 0.3);
    gradgradcheck(spread, &[positive, weight, numbers(&[1], 0.5, 0.0)]);
}

#[test]
fn faults_name_the_function_and_the_numbers() {
    let x = |dims: &[usize]| Var::new(Tensor::zeros(DType::F32, dims).unwrap());
    let text = |result: Result<Var>| result.unwrap_err().to_string();
    let of = InterpolateOptions::default;
    let fault = text(interpolate(&x(&[1, 1, 4]), of()));
    assert!(fault.contains("expected either `size` or `scale`"), "{fault}");
    let fault = text(interpolate(&x(&[1, 1, 4]), of().size([2]).mode(Interpolation::Bilinear)));
    assert!(fault.contains("`bilinear` is for 2 spatial axes"), "{fault}");
    let fault = text(interpolate(&x(&[1, 1, 4]), of().size([2]).align_corners(true)));
    assert!(fault.contains("no corners to align"), "{fault}");
    let fault = text(pixel_shuffle(&x(&[1, 6, 2, 2]), 2));
    assert!(fault.contains("6 channels are not divisible by 4"), "{fault}");
    let fault = text(channel_shuffle(&x(&[1, 6, 2, 2]), 4));
    assert!(fault.contains("6 channels are not divisible by 4 groups"), "{fault}");
    let (image, grid) = (x(&[1, 1, 2, 2]), x(&[2, 1, 1, 2]));
    let fault = text(grid_sample(&image, &grid, GridSampleOptions::default()));
    assert!(fault.contains("does not fit the images"), "{fault}");
    let fault = text(fold(&x(&[1, 5, 4]), 3usize.into(), 2usize.into(), FoldOptions::default()));
    assert!(fault.contains("a window has 4 elements, and 4 windows"), "{fault}");
}
