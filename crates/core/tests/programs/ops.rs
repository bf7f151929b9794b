//! Toy ops: each shows readers and the verifier something the structural ops do not.

use std::sync::Arc;

use fluvial_core::{
    Arity, Attr, Block, DType, Dim, Elementwise, Error, Grad, Keeps, Op, OpDef, OpRef, Registry,
    Result, Takes, Tensor, Type, Types, Value, Values, attributes, grads,
};
use smallvec::smallvec;

/// The structural ops and the toys.
pub fn registry() -> Registry {
    Registry::structural().with(OPS).unwrap()
}

const OPS: &[OpDef] = &[
    OpDef::fixed("toy.square", || OpRef::from(&SQUARE), Vec::new),
    OpDef::new(Everything::NAME, Everything::build, Vec::new),
    OpDef::new(Repeat::NAME, Repeat::build, Vec::new),
    OpDef::new(Switch::NAME, Switch::build, Vec::new),
    OpDef::new(Found::NAME, Found::build, Vec::new),
    OpDef::new(Empty::NAME, Empty::build, Vec::new),
    OpDef::new(Push::NAME, Push::build, Vec::new),
    OpDef::new(Pop::NAME, Pop::build, Vec::new),
    OpDef::new(Return::NAME, Return::build, Vec::new),
    OpDef::new(Odd::NAME, Odd::build, Vec::new),
];

/// An elementwise op.
pub static SQUARE: Elementwise = Elementwise::unary(
    "toy.square",
    |x| x * x,
    Keeps::INPUTS,
    |p| grads![p => p.dy() * p.x(0) * 2.0],
);

attributes! {
    /// Has an attribute of every kind; gives its input.
    pub struct Everything = "toy.everything" {
        pub flag: bool,
        pub int: i64,
        pub float: f64,
        pub floats: Vec<f64>,
        pub text: Arc<str>,
        pub size: Dim,
        pub sizes: Vec<Vec<Dim>>,
        pub dtype: DType,
        pub ty: Type,
        pub tensor: Tensor,
        pub tensors: Vec<Tensor>,
        pub present: Option<i64>,
        pub absent: Option<Type>,
        pub any: Any,
    }
}

impl Everything {
    /// A plain one, to be changed.
    pub fn plain() -> Everything {
        Everything {
            flag: true,
            int: -3,
            float: 0.5,
            floats: vec![],
            text: "".into(),
            size: Dim::size(4),
            sizes: vec![],
            dtype: DType::BF16,
            ty: Type::scalar(DType::F32),
            tensor: Tensor::scalar(1.0f32),
            tensors: vec![],
            present: Some(7),
            absent: None,
            any: Any(Attr::None),
        }
    }
}

/// Any attribute at all.
#[derive(Clone, Debug)]
pub struct Any(pub Attr);

impl fluvial_core::Attribute for Any {
    const EXPECTED: &'static str = "anything";

    fn to_attr(&self) -> Attr {
        self.0.clone()
    }

    fn from_attr(attr: &Attr) -> Option<Any> {
        Some(Any(attr.clone()))
    }
}

attributes! {
    /// Applies a block to its inputs a number of times.
    pub struct Repeat = "toy.repeat" {
        pub trips: i64,
        pub body: Arc<Block>,
    }
}

attributes! {
    /// Applies the block that the first input selects to the others.
    pub struct Switch = "toy.switch" {
        pub branches: Vec<Arc<Block>>,
    }
}

attributes! {
    /// The positions of what is not zero, and the values there; how many, only a run knows.
    pub struct Found = "toy.found" {}
}

attributes! {
    /// An empty list.
    pub struct Empty = "toy.empty" {
        pub element: Type,
    }
}

attributes! {
    /// A list with one element more.
    pub struct Push = "toy.push" {}
}

attributes! {
    /// A list without its last element, and that.
    pub struct Pop = "toy.pop" {}
}

attributes! {
    /// Its name is a word of the text form.
    pub struct Return = "return" {
        pub r#in: i64,
    }
}

attributes! {
    /// Its name is not a word at all.
    pub struct Odd = "odd \"op\"" {}
}

/// Implements `Op` for ops that are never run here.
macro_rules! toy {
    ($op:ty, $arity:expr, |$self:ident, $inputs:ident| $infer:expr) => {
        impl Op for $op {
            fn arity(&self) -> Arity {
                $arity
            }
            fn takes(&self) -> Takes {
                Takes::Any
            }

            fn infer(&self, $inputs: &[&Type]) -> Result<Types> {
                let $self = self;
                $infer
            }
            fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
                Err(Error::internal("toys do not run"))
            }
            fn grad(&self) -> Grad {
                Grad::NonDifferentiable("toys do not run")
            }
        }
    };
}

toy!(Everything, Arity::Exactly(1), |_op, inputs| Ok(smallvec![*inputs[0]]));
toy!(Return, Arity::Exactly(1), |_op, _inputs| Ok(smallvec![]));
toy!(Odd, Arity::Exactly(1), |_op, inputs| Ok(smallvec![*inputs[0]]));
toy!(Empty, Arity::Exactly(0), |op, _inputs| Ok(smallvec![op.element.list_of()?]));

toy!(Repeat, Arity::AtLeast(1), |op, inputs| {
    let params: Vec<&Type> = op.body.param_types().iter().collect();
    if params != inputs {
        return Err(Error::program(format!("the body takes {params:?}")));
    }
    let results: Types = op.body.result_types().copied().collect();
    match results[..] == op.body.param_types()[..results.len()] {
        true => Ok(results),
        false => Err(Error::program(format!("the body gives {results:?}"))),
    }
});

toy!(Switch, Arity::AtLeast(1), |op, inputs| {
    let Some(first) = op.branches.first() else {
        return Err(Error::argument("there is no branch"));
    };
    if first.param_types().iter().ne(inputs[1..].iter().copied()) {
        return Err(Error::program("the branches take other types"));
    }
    Ok(first.result_types().copied().collect())
});

toy!(Found, Arity::Exactly(1), |_op, inputs| {
    let x = inputs[0];
    let indices = Type::new(DType::I64, &[Dim::fresh(0), Dim::size(x.rank())])?;
    Ok(smallvec![indices, Type::new(x.dtype(), &[Dim::fresh(0)])?])
});

toy!(Push, Arity::Exactly(2), |_op, inputs| {
    match inputs[0].element() == Some(*inputs[1]) {
        true => Ok(smallvec![*inputs[0]]),
        false => Err(Error::dtype("this is not an element of the list")),
    }
});

toy!(Pop, Arity::Exactly(1), |_op, inputs| {
    match inputs[0].element() {
        Some(element) => Ok(smallvec![*inputs[0], element]),
        None => Err(Error::dtype("this is not a list")),
    }
});
