//! Small ONNX models, written with the crate's own messages.
#![allow(dead_code)]

use fluvial_bridge::onnx::proto::tensor_shape_proto::{Dimension, dimension};
use fluvial_bridge::onnx::proto::type_proto::{Tensor as TensorType, Value};
use fluvial_bridge::onnx::proto::*;
use fluvial_core::Tensor;
use prost::Message;

/// A node with its name: the op in small letters.
pub fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let strings = |all: &[&str]| all.iter().map(|name| name.to_string()).collect();
    NodeProto {
        op_type: op.to_string(),
        name: format!("/model/{}", op.to_lowercase()),
        input: strings(inputs),
        output: strings(outputs),
        ..NodeProto::default()
    }
}

pub trait With {
    fn int(self, name: &str, value: i64) -> Self;
    fn ints(self, name: &str, values: &[i64]) -> Self;
    fn graph(self, name: &str, graph: GraphProto) -> Self;
}

impl With for NodeProto {
    fn int(mut self, name: &str, value: i64) -> NodeProto {
        let name = name.to_string();
        let attr = AttributeProto { name, i: value, r#type: 2, ..AttributeProto::default() };
        self.attribute.push(attr);
        self
    }

    fn ints(mut self, name: &str, values: &[i64]) -> NodeProto {
        let (name, ints) = (name.to_string(), values.to_vec());
        self.attribute.push(AttributeProto { name, ints, r#type: 7, ..AttributeProto::default() });
        self
    }

    fn graph(mut self, name: &str, graph: GraphProto) -> NodeProto {
        let (name, g) = (name.to_string(), Some(graph));
        self.attribute.push(AttributeProto { name, g, r#type: 5, ..AttributeProto::default() });
        self
    }
}

/// A value; sizes are numbers or names.
pub fn info(name: &str, elem_type: i32, sizes: &[&str]) -> ValueInfoProto {
    let size = |text: &&str| Dimension {
        value: Some(match text.parse() {
            Ok(number) => dimension::Value::DimValue(number),
            Err(_) => dimension::Value::DimParam(text.to_string()),
        }),
    };
    let shape = Some(TensorShapeProto { dim: sizes.iter().map(size).collect() });
    let value = Some(Value::TensorType(TensorType { elem_type, shape }));
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { value }), ..Default::default() }
}

/// An initialiser of floats.
pub fn floats(name: &str, tensor: &Tensor) -> TensorProto {
    TensorProto {
        name: name.to_string(),
        data_type: 1,
        dims: tensor.dims().iter().map(|&size| size as i64).collect(),
        float_data: tensor.to_vec::<f32>().unwrap(),
        ..TensorProto::default()
    }
}

/// An initialiser of integers.
pub fn ints(name: &str, values: &[i64], dims: &[i64]) -> TensorProto {
    TensorProto {
        name: name.to_string(),
        data_type: 7,
        dims: dims.to_vec(),
        int64_data: values.to_vec(),
        ..TensorProto::default()
    }
}

pub fn graph(
    node: Vec<NodeProto>,
    input: Vec<ValueInfoProto>,
    output: Vec<ValueInfoProto>,
    initializer: Vec<TensorProto>,
) -> GraphProto {
    GraphProto { name: "g".into(), node, input, output, initializer, ..GraphProto::default() }
}

pub fn model(graph: GraphProto) -> ModelProto {
    ModelProto {
        ir_version: 8,
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 17 }],
        ..ModelProto::default()
    }
}

pub fn bytes(graph: GraphProto) -> Vec<u8> {
    model(graph).encode_to_vec()
}

/// Two layers on `[batch, 3]`.
pub fn mlp() -> GraphProto {
    let weight = Tensor::from_slice(&[0.5f32, -1.0, 2.0, 1.5, 0.25, -0.75], &[2, 3]).unwrap();
    let bias = Tensor::from_slice(&[0.125f32, -0.5], &[2]).unwrap();
    graph(
        vec![
            node("Gemm", &["x", "fc.weight", "fc.bias"], &["h"]).int("transB", 1),
            node("Relu", &["h"], &["y"]),
        ],
        vec![info("x", 1, &["batch", "3"])],
        vec![info("y", 1, &["batch", "2"])],
        vec![floats("fc.weight", &weight), floats("fc.bias", &bias)],
    )
}
