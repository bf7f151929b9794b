//! The numeric loops under Fluvial's ops.
//!
//! Everything here takes and returns [`Tensor`](fluvial_tensor::Tensor)s of any layout and knows nothing
//! of ops, gradients or programs: an op's `infer` has judged shapes and dtypes before. What is wrong all
//! the same is an `Error`, never a panic. Results depend on the values and the shape only, not on the
//! number of threads, and but for [`matmul()`] not on the layout either.
//!
//! | kernels | in |
//! |---|---|
//! | elementwise functions as data: built, fused, printed, run | [`Body`], with [`S`], [`Inst`], [`Unary`], [`Binary`] |
//! | elementwise functions as types, composed at compile time | [`lazy()`], [`Lazy`], [`Expression`] |
//! | softmax, cross entropy | [`softmax()`], [`cross_entropy`] |
//! | normalisation | [`layer_norm`], [`rms_norm`], [`batch_norm`], [`group_norm`] and their gradients |
//! | attention | [`attention()`], [`attention_grad`] |
//! | steps of recurrent networks | [`lstm_cell`], [`gru_cell`] and their gradients |
//! | optimizer steps | [`adam`], [`momentum`], [`sgd`] |
//! | reductions | [`reduce()`], [`arg_reduce`], [`logsumexp`], [`sum_to`] |
//! | running results | [`scan()`], [`linear_scan`], [`arg_scan`] |
//! | order and counting | [`argsort`], [`top_positions`], [`unique`], [`searchsorted`], [`bincount`], [`histogram`] |
//! | products of matrices, and what follows them | [`matmul()`], [`matmul_with`] |
//! | products of bytes with packed weights | [`int8_linear`], [`int8_conv`], [`matmul_integer`], [`conv_integer`], [`quantize`] |
//! | decompositions of matrices | [`cholesky`], [`solve`], [`qr`], [`svd`], [`eigh`] and their like, with the feature `linalg` |
//! | Fourier transforms | [`fourier()`], with the feature `linalg` |
//! | convolutions, windows as columns | [`conv()`], [`conv_transpose`], [`conv_weight_grad`], [`unfold`], [`fold`] |
//! | pools | [`max_pool`], [`pool_pick`], [`pool_scatter`], [`avg_pool`], [`avg_pool_spread`] |
//! | resampling of an axis | [`resample()`], [`resample_adjoint`] |
//! | alignments of sequences | [`ctc_loss`], [`ctc_grad`] |
//! | joining and placing | [`concat()`], [`stack`], [`scatter_slice`], [`place`] |
//! | rows and slices by number | [`take_rows`], [`split_rows`], [`merge_rows`], [`gather`], [`index_add`] |
//! | positions: flat, of elements, and what is written at them | [`ravel_index`], [`along_index`], [`nonzero`], [`repeat_index`], [`element_numbers`], [`index_put`], [`index_fold`], [`last_writes`] |
//! | numbers at equal distances | [`arange`], [`linspace`] |
//! | random numbers by position | [`uniform`], [`normal`], [`truncated_normal`], [`bernoulli`], [`randint`] |
//! | the threads that all of them share | [`threads`] |
//! | the vector instructions they use | [`simd`] |
//!
//! Beneath them, not public: `lanes` walks along one axis; `strided` reads any layout in logical order
//! and any dtype as the one a kernel computes in; `scratch` is memory that a thread keeps.

pub mod simd;
pub mod threads;

mod scalar;

mod attention;
mod cells;
mod conv;
mod copy;
mod create;
mod ctc;
mod fourier;
mod index;
mod int8;
mod lazy;
mod linalg;
mod matmul;
mod norm;
mod optimizer;
mod pool;
mod random;
mod reduce;
mod resample;
mod rows;
mod scan;
mod softmax;
mod sort;

mod lanes;
mod math;
mod scratch;
mod strided;

#[cfg(test)]
mod testing;

pub use attention::{Attention, attention, attention_grad};
pub use cells::{gru_cell, gru_cell_grad, lstm_cell, lstm_cell_grad};
pub use conv::{Windows, conv, conv_transpose, conv_weight_grad, fold, unfold};
pub use copy::{concat, place, scatter_slice, stack};
pub use create::{arange, linspace};
pub use ctc::{Ctc, ctc_grad, ctc_loss};
pub use fourier::fourier;
pub use index::{
    along_index, element_numbers, index_fold, index_put, last_writes, nonzero, ravel_index,
    repeat_index,
};
pub use int8::{
    Int8Epilogue, MAX_PRODUCTS, PANEL, conv_integer, dynamic_scale, int8_conv, int8_linear,
    matmul_integer, pack_int8, packed_dims, quantize, unpack_int8,
};
pub use lazy::{Expression, Lazy, lazy};
pub use linalg::{
    Triangle, cholesky, det, eig, eigh, inverse, qr, slogdet, solve, svd, triangular_solve,
};
pub use matmul::{Activation, Epilogue, matmul, matmul_with};
pub use norm::{
    batch_norm, batch_norm_grad, batch_norm_moments, group_norm, group_norm_grad, layer_norm,
    layer_norm_grad, rms_norm, rms_norm_grad,
};
pub use optimizer::{Adam, Momentum, WeightDecay, adam, momentum, sgd};
pub use pool::{Window, avg_pool, avg_pool_spread, max_pool, pool_pick, pool_scatter};
pub use random::{bernoulli, normal, randint, truncated_normal, uniform};
pub use reduce::{Reduce, arg_reduce, logsumexp, reduce, sum_to};
pub use resample::{Taps, resample, resample_adjoint};
pub use rows::{gather, index_add, merge_rows, split_rows, take_rows};
pub use scalar::{Binary, Body, Given, Inst, Operand, Reduction, S, Unary};
pub use scan::{Scan, arg_scan, linear_scan, scan};
pub use softmax::{Softmax, cross_entropy, softmax};
pub use sort::{argsort, bincount, histogram, searchsorted, top_positions, unique};
