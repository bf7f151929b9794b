//! Small elementwise work does not allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use fluvial_kernels::Body;
use fluvial_tensor::{DType, Tensor};

/// The system's allocator, counting for each thread.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(data, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(f: impl FnOnce()) -> usize {
    let before = COUNT.get();
    f();
    COUNT.get() - before
}

#[test]
fn one_element() {
    let body = Body::build(2, 1, |x, p| (x[0] * p[0] + x[1]).tanh() / (1.0 + x[0].exp()));
    let (a, b) = (Tensor::scalar(1.5f32), Tensor::full(&[1, 1], 2i64).unwrap());
    let count = allocations(|| {
        let scalar = body.run_one(&[&a, &a], &[2.0], DType::F32, DType::F32).unwrap();
        let matrix = body.run_one(&[&a, &b], &[2.0], DType::F64, DType::F16).unwrap();
        assert_eq!((scalar.rank(), matrix.rank()), (0, 2));
    });
    assert_eq!(count, 0);
}

#[test]
fn a_few_elements() {
    let body = Body::build(3, 1, |x, p| (x[0] * p[0] + x[1]).tanh() / (1.0 + x[2].exp()));
    let x = Tensor::full(&[4, 4], 1.5f32).unwrap();
    let (row, half) =
        (x.index(0, 1).unwrap(), x.cast(DType::F16).unwrap().transpose(0, 1).unwrap());
    let mut out = Tensor::empty(DType::F32, &[4, 4]).unwrap();
    let mut run = || body.run(&[&x, &row, &half], &[2.0], DType::F32, &mut out).unwrap();
    run();
    assert_eq!(allocations(run), 0);
}
