//! Powers of e with AVX-512, which multiplies by powers of two in one instruction.

use std::arch::x86_64::*;

use super::{LN_2_HEAD, LN_2_REST, ROUND, TERMS};
use crate::lanes::{Ahead, STEP};

/// Writes the powers of e to `y`, with the bits of [`exp`](super::exp).
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub(super) fn exp_512(x: &[f32], y: &mut [f32], ahead: Ahead<f32>) {
    let n = x.len().min(y.len());
    for at in (0..n).step_by(16) {
        if at % STEP == 0 {
            ahead.ask(at / STEP);
        }
        let mask = if n - at < 16 { (1 << (n - at)) - 1 } else { u16::MAX };
        // SAFETY: the mask has no more numbers than are left.
        let x = unsafe { _mm512_maskz_loadu_ps(mask, x.as_ptr().add(at)) };
        // Not those that vanish: they take a hundred times as long.
        let stays = _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(x, _mm512_set1_ps(-104.0));
        // The second if one is NaN.
        let x = _mm512_min_ps(_mm512_set1_ps(89.0), x);
        let round = _mm512_set1_ps(ROUND);
        let log = _mm512_set1_ps(std::f32::consts::LOG2_E);
        let whole = _mm512_sub_ps(_mm512_fmadd_ps(x, log, round), round);
        let r = _mm512_fnmadd_ps(whole, _mm512_set1_ps(LN_2_HEAD), x);
        let r = _mm512_fnmadd_ps(whole, _mm512_set1_ps(LN_2_REST), r);
        let mut series = _mm512_set1_ps(TERMS[TERMS.len() - 1]);
        for &term in TERMS[..TERMS.len() - 1].iter().rev() {
            series = _mm512_fmadd_ps(series, r, _mm512_set1_ps(term));
        }
        let part = _mm512_fmadd_ps(_mm512_mul_ps(r, r), series, r);
        let value = _mm512_add_ps(part, _mm512_set1_ps(1.0));
        let result = _mm512_maskz_scalef_ps(stays, value, whole);
        // SAFETY: as above.
        unsafe { _mm512_mask_storeu_ps(y.as_mut_ptr().add(at), mask, result) };
    }
}
