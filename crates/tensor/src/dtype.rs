//! Element types: [`DType`] names one at run time.

use std::fmt;

/// The type of a tensor's elements.
///
/// The order of the variants is the order of promotion: see [`DType::promote`].
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum DType {
    /// `bool`, one byte, 0 or 1.
    Bool,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 8-bit integer.
    I8,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// IEEE half precision.
    F16,
    /// The upper half of an `f32`.
    BF16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl DType {
    /// Every element type, in the order of the variants.
    pub const ALL: [DType; 9] = [
        DType::Bool,
        DType::U8,
        DType::I8,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ];

    /// The short name used in types and programs, such as `f32`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "u8",
            DType::I8 => "i8",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// The inverse of [`DType::name`].
    pub fn parse(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Bytes per element.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::U8 | DType::I8 => 1,
            DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::F32 => 4,
            DType::I64 | DType::F64 => 8,
        }
    }

    /// Whether this is one of the four floating-point types.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
    }

    /// Whether this is an integer, signed or not; `bool` is not one.
    #[inline]
    pub const fn is_int(self) -> bool {
        matches!(self, DType::U8 | DType::I8 | DType::I32 | DType::I64)
    }

    /// Whether negative values exist: every type but `bool` and `u8`.
    #[inline]
    pub const fn is_signed(self) -> bool {
        !matches!(self, DType::Bool | DType::U8)
    }

    /// Whether this is `bool`.
    #[inline]
    pub const fn is_bool(self) -> bool {
        matches!(self, DType::Bool)
    }

    /// The type in which two operands meet.
    ///
    /// `bool` gives way to anything, an integer gives way to any float, and inside a kind the
    /// smallest type that holds both wins: `u8` with `i8` is `i32` and `f16` with `bf16` is `f32`.
    #[inline]
    pub const fn promote(self, other: DType) -> DType {
        match (self, other) {
            (DType::U8, DType::I8) | (DType::I8, DType::U8) => DType::I32,
            (DType::F16, DType::BF16) | (DType::BF16, DType::F16) => DType::F32,
            _ if (self as u8) < (other as u8) => other,
            _ => self,
        }
    }

    /// The type arithmetic is carried out in: half floats compute in `f32`, `bool` in `u8`.
    #[inline]
    pub const fn compute(self) -> DType {
        match self {
            DType::F16 | DType::BF16 => DType::F32,
            DType::Bool => DType::U8,
            other => other,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::DType::{self, *};

    #[test]
    fn promotion_table() {
        let order = DType::ALL;
        let table = [
            [Bool, U8, I8, I32, I64, F16, BF16, F32, F64],
            [U8, U8, I32, I32, I64, F16, BF16, F32, F64],
            [I8, I32, I8, I32, I64, F16, BF16, F32, F64],
            [I32, I32, I32, I32, I64, F16, BF16, F32, F64],
            [I64, I64, I64, I64, I64, F16, BF16, F32, F64],
            [F16, F16, F16, F16, F16, F16, F32, F32, F64],
            [BF16, BF16, BF16, BF16, BF16, F32, BF16, F32, F64],
            [F32, F32, F32, F32, F32, F32, F32, F32, F64],
            [F64, F64, F64, F64, F64, F64, F64, F64, F64],
        ];
        for (i, a) in order.into_iter().enumerate() {
            for (j, b) in order.into_iter().enumerate() {
                assert_eq!(a.promote(b), table[i][j], "{a} with {b}");
                assert_eq!(a.promote(b), b.promote(a));
            }
        }
    }

    #[test]
    fn names_round_trip() {
        for dtype in DType::ALL {
            assert_eq!(DType::parse(dtype.name()), Some(dtype));
            assert_eq!(dtype.to_string(), dtype.name());
        }
        assert_eq!(DType::parse("float"), None);
        assert_eq!(DType::parse(""), None);
    }

    #[test]
    fn kinds_are_disjoint() {
        for dtype in DType::ALL {
            let kinds = [dtype.is_bool(), dtype.is_int(), dtype.is_float()];
            assert_eq!(kinds.into_iter().filter(|&kind| kind).count(), 1);
            assert_eq!(dtype.is_signed(), !matches!(dtype, Bool | U8));
            assert_eq!(dtype.compute().compute(), dtype.compute());
        }
        assert_eq!([F16.compute(), BF16.compute(), Bool.compute()], [F32, F32, U8]);
    }
}
