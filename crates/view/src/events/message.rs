//! The messages of TensorFlow's `event.proto`, `summary.proto` and `tensor.proto`, as far as they are needed.

use prost::{Message, Oneof};

/// What is told at a time.
#[derive(Clone, PartialEq, Message)]
pub struct Event {
    #[prost(double, tag = "1")]
    pub wall_time: f64,
    #[prost(int64, tag = "2")]
    pub step: i64,
    #[prost(oneof = "EventWhat", tags = "3, 5")]
    pub what: Option<EventWhat>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum EventWhat {
    #[prost(string, tag = "3")]
    Version(String),
    #[prost(message, tag = "5")]
    Summary(Summary),
}

#[derive(Clone, PartialEq, Message)]
pub struct Summary {
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Value {
    #[prost(string, tag = "1")]
    pub tag: String,
    #[prost(message, optional, tag = "9")]
    pub metadata: Option<Metadata>,
    #[prost(oneof = "ValueWhat", tags = "2, 4, 5, 8")]
    pub what: Option<ValueWhat>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum ValueWhat {
    #[prost(float, tag = "2")]
    Scalar(f32),
    #[prost(message, tag = "4")]
    Image(Image),
    #[prost(message, tag = "5")]
    Histogram(Histogram),
    #[prost(message, tag = "8")]
    Tensor(Tensor),
}

#[derive(Clone, PartialEq, Message)]
pub struct Image {
    #[prost(int32, tag = "1")]
    pub height: i32,
    #[prost(int32, tag = "2")]
    pub width: i32,
    #[prost(int32, tag = "3")]
    pub channels: i32,
    #[prost(bytes = "vec", tag = "4")]
    pub encoded: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Histogram {
    #[prost(double, tag = "1")]
    pub min: f64,
    #[prost(double, tag = "2")]
    pub max: f64,
    #[prost(double, tag = "3")]
    pub count: f64,
    #[prost(double, tag = "4")]
    pub sum: f64,
    #[prost(double, tag = "5")]
    pub sum_squares: f64,
    #[prost(double, repeated, tag = "6")]
    pub limits: Vec<f64>,
    #[prost(double, repeated, tag = "7")]
    pub counts: Vec<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Metadata {
    #[prost(message, optional, tag = "1")]
    pub plugin: Option<Plugin>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Plugin {
    #[prost(string, tag = "1")]
    pub name: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Tensor {
    #[prost(int32, tag = "1")]
    pub dtype: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<Shape>,
    #[prost(bytes = "vec", tag = "4")]
    pub content: Vec<u8>,
    #[prost(float, repeated, tag = "5")]
    pub floats: Vec<f32>,
    #[prost(double, repeated, tag = "6")]
    pub doubles: Vec<f64>,
    #[prost(bytes = "vec", repeated, tag = "8")]
    pub strings: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Shape {
    #[prost(message, repeated, tag = "2")]
    pub dims: Vec<Size>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Size {
    #[prost(int64, tag = "1")]
    pub size: i64,
}

/// Element types of tensors.
pub const FLOAT: i32 = 1;
pub const DOUBLE: i32 = 2;
pub const STRING: i32 = 7;

impl Tensor {
    /// The elements, if they are floats.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let content = &self.content;
        Some(match self.dtype {
            FLOAT if content.is_empty() => self.floats.iter().map(|&x| f64::from(x)).collect(),
            FLOAT => {
                content.as_chunks().0.iter().map(|x| f64::from(f32::from_le_bytes(*x))).collect()
            }
            DOUBLE if content.is_empty() => self.doubles.clone(),
            DOUBLE => content.as_chunks().0.iter().map(|x| f64::from_le_bytes(*x)).collect(),
            _ => return None,
        })
    }
}
