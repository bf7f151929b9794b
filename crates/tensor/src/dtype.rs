//! Element types: [`DType`] names one at run time.
//!
//! The list below is the one statement of what an element type is called, how large it is and what kind of
//! numbers it holds; [`crate::dispatch!`] has its Rust type.

use std::fmt;

/// What kind of numbers an element type holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Truth values.
    Bool,
    /// Integers that are not negative.
    Unsigned,
    /// Integers with a sign.
    Signed,
    /// Real numbers.
    Float,
    /// Complex numbers: a real and an imaginary part, one after the other.
    Complex,
}

/// Declares the element types and what is known of them.
macro_rules! dtypes {
    ($($(#[$doc:meta])* $Variant:ident $name:literal $long_name:literal $kind:ident $size:literal,)*) => {
        /// The type of a tensor's elements.
        #[repr(u8)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum DType { $($(#[$doc])* $Variant,)* }

        impl DType {
            /// Every element type, in the order of the variants.
            pub const ALL: [DType; [$($size),*].len()] = [$(DType::$Variant),*];

            /// The short name used in types and programs, such as `f32`.
            pub const fn name(self) -> &'static str {
                match self { $(DType::$Variant => $name,)* }
            }

            /// The name that NumPy and others use, such as `float32`.
            pub const fn long_name(self) -> &'static str {
                match self { $(DType::$Variant => $long_name,)* }
            }

            /// What kind of numbers it holds.
            #[inline]
            pub const fn kind(self) -> Kind {
                match self { $(DType::$Variant => Kind::$kind,)* }
            }

            /// Bytes per element.
            #[inline]
            pub const fn size(self) -> usize {
                match self { $(DType::$Variant => $size,)* }
            }
        }
    };
}

dtypes! {
    /// `bool`, one byte, 0 or 1.
    Bool "bool" "bool" Bool 1,
    /// Unsigned 8-bit integer.
    U8 "u8" "uint8" Unsigned 1,
    /// Unsigned 16-bit integer.
    U16 "u16" "uint16" Unsigned 2,
    /// Unsigned 32-bit integer.
    U32 "u32" "uint32" Unsigned 4,
    /// Unsigned 64-bit integer.
    U64 "u64" "uint64" Unsigned 8,
    /// Signed 8-bit integer.
    I8 "i8" "int8" Signed 1,
    /// Signed 16-bit integer.
    I16 "i16" "int16" Signed 2,
    /// Signed 32-bit integer.
    I32 "i32" "int32" Signed 4,
    /// Signed 64-bit integer.
    I64 "i64" "int64" Signed 8,
    /// A float of 8 bits with 4 of exponent and 3 of mantissa, without infinities. It only stores numbers.
    F8E4M3 "f8e4m3" "float8_e4m3fn" Float 1,
    /// A float of 8 bits with 5 of exponent and 2 of mantissa. It only stores numbers.
    F8E5M2 "f8e5m2" "float8_e5m2" Float 1,
    /// IEEE half precision.
    F16 "f16" "float16" Float 2,
    /// The upper half of an `f32`.
    BF16 "bf16" "bfloat16" Float 2,
    /// IEEE single precision.
    F32 "f32" "float32" Float 4,
    /// IEEE double precision.
    F64 "f64" "float64" Float 8,
    /// A complex number of two `f32`.
    C64 "c64" "complex64" Complex 8,
    /// A complex number of two `f64`.
    C128 "c128" "complex128" Complex 16,
}

impl DType {
    /// The inverse of [`DType::name`].
    pub fn parse(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// The type of this kind and size, other than `bf16` and the floats of 8 bits, which NumPy does not have.
    pub fn of(kind: Kind, size: usize) -> Option<DType> {
        let fits = |dtype: &DType| dtype.kind() == kind && dtype.size() == size;
        DType::ALL.into_iter().find(|dtype| fits(dtype) && dtype.is_of_numpy())
    }

    /// Whether NumPy has it without help.
    #[inline]
    pub const fn is_of_numpy(self) -> bool {
        !matches!(self, DType::BF16) && !self.is_stored()
    }

    /// What the address of an element is a multiple of.
    #[inline]
    pub const fn align(self) -> usize {
        self.real().size()
    }

    /// Whether its numbers are complex.
    #[inline]
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }

    /// Whether its numbers are rounded, real or complex: these have gradients.
    #[inline]
    pub const fn is_inexact(self) -> bool {
        matches!(self.kind(), Kind::Float | Kind::Complex)
    }

    /// Whether it is there to store numbers only, and arithmetic takes a cast: the floats of 8 bits.
    #[inline]
    pub const fn is_stored(self) -> bool {
        matches!(self, DType::F8E4M3 | DType::F8E5M2)
    }

    /// The type of the real and the imaginary part; a type that is not complex itself.
    #[inline]
    pub const fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// The complex type that has numbers of this type as parts.
    #[inline]
    pub const fn complex(self) -> DType {
        match self {
            DType::F64 | DType::C128 => DType::C128,
            _ => DType::C64,
        }
    }

    /// Whether this is a floating-point type; complex ones are not.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// Whether this is an integer, signed or not; `bool` is not one.
    #[inline]
    pub const fn is_int(self) -> bool {
        matches!(self.kind(), Kind::Unsigned | Kind::Signed)
    }

    /// Whether negative values exist: every type but `bool` and the unsigned integers.
    #[inline]
    pub const fn is_signed(self) -> bool {
        !matches!(self.kind(), Kind::Bool | Kind::Unsigned)
    }

    /// Whether this is `bool`.
    #[inline]
    pub const fn is_bool(self) -> bool {
        matches!(self, DType::Bool)
    }

    /// The least and the greatest number of an integer type.
    pub const fn range(self) -> Option<(i128, i128)> {
        let bits = 8 * self.size() as u32;
        match self.kind() {
            Kind::Unsigned => Some((0, (1 << bits) - 1)),
            Kind::Signed => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            _ => None,
        }
    }

    /// The type in which two operands meet.
    ///
    /// `bool` gives way to anything, an integer gives way to any float, and inside a kind the smallest type
    /// that holds both wins: `u8` with `i8` is `i16`, and `f16` with `bf16` is `f32`. No integer holds both
    /// `u64` and a signed one: these meet in `f64`, as in NumPy. Everything gives way to complex numbers, `f64`
    /// and `c64` to `c128`.
    #[inline]
    pub const fn promote(self, other: DType) -> DType {
        let (low, high) = if (self as u8) < (other as u8) { (self, other) } else { (other, self) };
        match (low.kind(), high.kind()) {
            (Kind::Unsigned, Kind::Signed) if low.size() >= high.size() => match low {
                DType::U8 => DType::I16,
                DType::U16 => DType::I32,
                DType::U32 => DType::I64,
                _ => DType::F64,
            },
            _ => match (low, high) {
                (DType::F8E4M3, DType::F8E5M2) => DType::F16,
                (DType::F16, DType::BF16) => DType::F32,
                (DType::F64, DType::C64) => DType::C128,
                _ => high,
            },
        }
    }

    /// The type arithmetic is carried out in: narrower floats compute in `f32`, `bool` in `u8`, and the integers
    /// of 16 bits and `u32` in the next wider signed one, which has all their numbers, and whose results wrap to theirs.
    #[inline]
    pub const fn compute(self) -> DType {
        match self {
            DType::F8E4M3 | DType::F8E5M2 | DType::F16 | DType::BF16 => DType::F32,
            DType::Bool => DType::U8,
            DType::I16 | DType::U16 => DType::I32,
            DType::U32 => DType::I64,
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

    /// What NumPy gives, but for integers with narrow floats, which keep the float here.
    #[test]
    fn promotion_table() {
        let integers = [U8, U16, U32, U64, I8, I16, I32, I64];
        let table = [
            [U8, U16, U32, U64, I16, I16, I32, I64],
            [U16, U16, U32, U64, I32, I32, I32, I64],
            [U32, U32, U32, U64, I64, I64, I64, I64],
            [U64, U64, U64, U64, F64, F64, F64, F64],
            [I16, I32, I64, F64, I8, I16, I32, I64],
            [I16, I32, I64, F64, I16, I16, I32, I64],
            [I32, I32, I64, F64, I32, I32, I32, I64],
            [I64, I64, I64, F64, I64, I64, I64, I64],
        ];
        for (a, row) in integers.into_iter().zip(table) {
            for (b, want) in integers.into_iter().zip(row) {
                assert_eq!(a.promote(b), want, "{a} with {b}");
            }
        }
        let floats = [F16, BF16, F32, F64];
        let table = [[F16, F32, F32, F64], [F32, BF16, F32, F64], [F32, F32, F32, F64], [F64; 4]];
        for (a, row) in floats.into_iter().zip(table) {
            for (b, want) in floats.into_iter().zip(row) {
                assert_eq!(a.promote(b), want, "{a} with {b}");
            }
            integers.into_iter().for_each(|b| assert_eq!(a.promote(b), a));
        }
        for (a, want) in floats.into_iter().chain([C64, C128]).zip([C64, C64, C64, C128, C64, C128])
        {
            assert_eq!((a.promote(C64), a.promote(C128), a.complex()), (want, C128, want));
        }
        assert_eq!([C64, C128].map(DType::real), [F32, F64]);
        integers.into_iter().for_each(|a| assert_eq!(a.promote(C64), C64));
        for a in DType::ALL {
            assert_eq!((Bool.promote(a), a.promote(Bool)), (a, a));
            DType::ALL.into_iter().for_each(|b| assert_eq!(a.promote(b), b.promote(a)));
        }
    }

    #[test]
    fn names_round_trip() {
        for dtype in DType::ALL {
            assert_eq!(DType::parse(dtype.name()), Some(dtype));
            assert_eq!(dtype.to_string(), dtype.name());
            assert_eq!(DType::of(dtype.kind(), dtype.size()) == Some(dtype), dtype.is_of_numpy());
        }
        assert_eq!(DType::parse("float"), None);
        assert_eq!(DType::parse(""), None);
    }

    #[test]
    fn kinds_are_disjoint() {
        for dtype in DType::ALL {
            let kinds = [dtype.is_bool(), dtype.is_int(), dtype.is_float(), dtype.is_complex()];
            assert_eq!(kinds.into_iter().filter(|&kind| kind).count(), 1);
            assert_eq!(dtype.is_signed(), !matches!(dtype, Bool | U8 | U16 | U32 | U64));
            assert_eq!(dtype.compute().compute(), dtype.compute());
            assert_eq!(dtype.range().is_some(), dtype.is_int());
        }
        assert_eq!([F16.compute(), BF16.compute(), Bool.compute()], [F32, F32, U8]);
        assert_eq!(I16.range(), Some((-32768, 32767)));
        assert_eq!(U64.range(), Some((0, u64::MAX as i128)));
    }
}
