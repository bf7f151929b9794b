use fluvial_core::{DType, Dim, Program, Result, Tensor, Type, Var};
use fluvial_ops::*;
use fluvial_testkit::Golden;
use fluvial_testkit::golden::Given;

use crate::per_axis;

type Conv = fn(&Var, &Var, Option<&Var>, ConvOptions) -> Result<Var>;
type Transposed = fn(&Var, &Var, Option<&Var>, ConvTransposeOptions) -> Result<Var>;

fn options(c: &Given<'_>) -> ConvOptions {
    ConvOptions {
        stride: per_axis(c, "stride", 1),
        padding: per_axis(c, "padding", 0),
        same: c.flag("same"),
        dilation: per_axis(c, "dilation", 1),
        groups: if c.has("groups") { c.size("groups") } else { 1 },
    }
}

fn transposed_options(c: &Given<'_>) -> ConvTransposeOptions {
    ConvTransposeOptions {
        stride: per_axis(c, "stride", 1),
        padding: per_axis(c, "padding", 0),
        output_padding: per_axis(c, "output_padding", 0),
        dilation: per_axis(c, "dilation", 1),
        groups: if c.has("groups") { c.size("groups") } else { 1 },
    }
}

#[test]
fn convolutions() {
    let check = |name, least, conv: Conv| {
        Golden::new("conv", name)
            .check(least, |c| Ok(vec![conv(c.x(0), c.x(1), c.option(2), options(c))?]));
    };
    check("conv1d", 13, conv1d);
    check("conv2d", 16, conv2d);
    check("conv3d", 6, conv3d);
}

#[test]
fn transposed_convolutions() {
    let check = |name, least, conv: Transposed| {
        Golden::new("conv", name)
            .check(least, |c| Ok(vec![conv(c.x(0), c.x(1), c.option(2), transposed_options(c))?]));
    };
    check("conv_transpose1d", 9, conv_transpose1d);
    check("conv_transpose2d", 6, conv_transpose2d);
    check("conv_transpose3d", 3, conv_transpose3d);
}

#[test]
fn one_program_serves_all_sizes_of_batch_and_image() {
    let symbolic = |dims: [&str; 4]| {
        let dims = dims.map(|dim| Dim::parse(dim).unwrap());
        Type::new(DType::F64, &dims).unwrap()
    };
    let weights = [symbolic(["3", "2", "3", "3"]), symbolic(["3", "2", "3", "3"])];
    let network = |x: &[Var]| -> Result<Vec<Var>> {
        let strided = ConvOptions::default().stride(2usize).padding(1usize);
        let y = conv2d(&x[0], &x[1], None, strided)?;
        let y = max_pool2d(&y, 2usize.into(), MaxPoolOptions::default().ceil_mode(true))?;
        let y = avg_pool2d(&y, 2usize.into(), AvgPoolOptions::default().stride(1usize))?;
        let up = ConvTransposeOptions::default().stride(2usize).output_padding(1usize);
        Ok(vec![conv_transpose2d(&y, &x[2], None, up)?])
    };
    let types = [("x", symbolic(["n", "2", "h", "w"])), ("a", weights[0]), ("b", weights[1])];
    let program = Program::build(&types, network).unwrap();
    let ramp = |dims: &[usize]| {
        let count = dims.iter().product::<usize>();
        let elements: Vec<f64> = (0..count).map(|i| (i * 37 % 64) as f64 / 16.0 - 2.0).collect();
        Var::new(Tensor::from_slice(&elements, dims).unwrap())
    };
    for dims in [[1, 2, 9, 12], [3, 2, 8, 7], [2, 2, 16, 5]] {
        let inputs = [ramp(&dims), ramp(&[3, 2, 3, 3]), ramp(&[3, 2, 3, 3])];
        let expected = network(&inputs).unwrap().remove(0);
        let found = program.apply(&inputs.iter().collect::<Vec<_>>()).unwrap().remove(0);
        assert_eq!(found.dims(), expected.dims());
        assert_eq!(found.to_vec::<f64>().unwrap(), expected.to_vec::<f64>().unwrap());
    }
    let small = [ramp(&[1, 2, 1, 9]), ramp(&[3, 2, 3, 3]), ramp(&[3, 2, 3, 3])];
    assert!(network(&small).is_err());
    assert!(program.apply(&small.iter().collect::<Vec<_>>()).is_err());
}

#[test]
fn faults_name_the_function_the_numbers_and_a_remedy() {
    let x = |dims: &[usize]| Var::new(Tensor::zeros(DType::F32, dims).unwrap());
    let of = ConvOptions::default;
    let text = |result: Result<Var>| result.unwrap_err().to_string();
    let fault = text(conv2d(&x(&[1, 1, 4, 4]), &x(&[1, 1, 2, 2]), None, of().stride([1, 2, 3])));
    assert!(fault.contains("conv2d(") && fault.contains("for 2 axes"), "{fault}");
    let stride = of().same(true).stride(2usize);
    let fault = text(conv2d(&x(&[1, 1, 4, 4]), &x(&[1, 1, 2, 2]), None, stride));
    assert!(fault.contains("`same` does not go with a stride of [2, 2]"), "{fault}");
    let fault = text(conv1d(&x(&[1, 1, 4]), &x(&[3, 1, 2]), Some(&x(&[2])), of()));
    assert!(fault.contains("the bias is f32[2], but there are 3 channels"), "{fault}");
    let fault = text(conv1d(&x(&[1, 3, 4]), &x(&[4, 1, 2]), None, of().groups(2usize)));
    assert!(fault.contains("3 input channels are not divisible by 2 groups"), "{fault}");
    let fault = text(conv1d(&x(&[1, 1, 4]), &x(&[1, 1, 3]), None, of().dilation(3usize)));
    assert!(fault.contains("reaches over 7 elements, but spatial axis 0 has 4"), "{fault}");
    let options = ConvTransposeOptions::default().output_padding(2usize).stride(2usize);
    let fault = text(conv_transpose1d(&x(&[1, 1, 4]), &x(&[1, 1, 3]), None, options));
    assert!(fault.contains("an output padding of 2 with stride 2"), "{fault}");
    let options = ConvTransposeOptions::default().padding(5usize);
    let fault = text(conv_transpose1d(&x(&[1, 1, 2]), &x(&[1, 1, 3]), None, options));
    assert!(fault.contains("of 4 elements of spatial axis 0, 10 are cut"), "{fault}");
}
