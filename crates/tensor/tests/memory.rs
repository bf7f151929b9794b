//! The allocator's counters. One test function, because the counters belong to the whole process.

use fluvial_tensor::memory::{self, Stats};
use fluvial_tensor::{DType, ErrorKind, Tensor};

const MIB: u64 = 1 << 20;

fn bytes(n: u64) -> Tensor {
    Tensor::empty(DType::U8, &[n as usize]).unwrap()
}

#[test]
fn counters_reuse_and_limits() {
    one_element_needs_no_memory();
    blocks_are_counted_in_classes();
    freed_blocks_are_reused();
    blocks_are_aligned();
    the_cache_is_bounded();
    the_limit_is_an_error();
    threads_keep_the_counters_straight();
}

fn one_element_needs_no_memory() {
    let before = memory::stats();
    let scalar = Tensor::scalar(1.0_f32);
    let none = Tensor::zeros(DType::F64, &[3, 0]).unwrap();
    let copies = (scalar.clone(), scalar.expand(&[1000]).unwrap(), none.clone());
    let one = Tensor::zeros(DType::I64, &[1, 1]).unwrap();
    assert_eq!(memory::stats(), before);
    drop((copies, one));
    assert_eq!(memory::stats(), before);
}

fn blocks_are_counted_in_classes() {
    memory::trim();
    memory::reset_peak();
    assert_eq!(memory::stats().live_bytes, 0);
    let (a, b) = (bytes(65), bytes(97));
    let shared = (a.clone(), a.slice(0, 64, 65, -1).unwrap());
    let stats = memory::stats();
    assert_eq!((stats.live_bytes, stats.peak_bytes, stats.cached_bytes), (96 + 128, 224, 0));
    drop(a);
    assert_eq!(memory::stats().live_bytes, 224);
    drop(shared);
    let stats = memory::stats();
    assert_eq!((stats.live_bytes, stats.peak_bytes, stats.cached_bytes), (128, 224, 96));
    memory::reset_peak();
    assert_eq!(memory::stats().peak_bytes, 128);
    drop(b);
    memory::trim();
    let stats = memory::stats();
    assert_eq!((stats.live_bytes, stats.cached_bytes), (0, 0));
}

fn freed_blocks_are_reused() {
    let before = memory::stats();
    let first = bytes(MIB);
    let data = first.data_ptr();
    drop(first);
    let second = bytes(MIB - 1000);
    assert_eq!(second.data_ptr(), data);
    let other_class = bytes(MIB / 2);
    assert_ne!(other_class.data_ptr(), data);
    let Stats { allocations, reuses, .. } = memory::stats();
    assert_eq!((allocations - before.allocations, reuses - before.reuses), (3, 1));
}

fn blocks_are_aligned() {
    for n in [2, 65, 97, 5000, MIB, 3 * MIB] {
        assert_eq!(bytes(n).data_ptr().addr() % 64, 0, "{n}");
    }
    for n in [4 * MIB, 5 * MIB, 9 * MIB] {
        let mut tensor = bytes(n);
        assert_eq!(tensor.data_ptr().addr() as u64 % (2 * MIB), 0, "{n}");
        tensor.as_bytes_mut().unwrap().fill(7);
    }
}

fn the_cache_is_bounded() {
    memory::trim();
    memory::set_cache_limit(3 * MIB);
    let blocks = [bytes(2 * MIB), bytes(2 * MIB), bytes(MIB)];
    drop(blocks);
    assert_eq!(memory::stats().cached_bytes, 3 * MIB);
    memory::set_cache_limit(MIB);
    assert_eq!(memory::stats().cached_bytes, MIB);
    memory::set_cache_limit(0);
    assert_eq!(memory::stats().cached_bytes, 0);
    drop(bytes(MIB));
    assert_eq!(memory::stats().cached_bytes, 0);
    memory::set_cache_limit(1 << 30);
}

fn the_limit_is_an_error() {
    let held = bytes(MIB);
    let live = memory::stats().live_bytes;
    memory::set_limit(Some(live + MIB));
    let error = Tensor::zeros(DType::U8, &[2 * MIB as usize]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    let expected = format!(
        "a tensor of {} bytes exceeds the memory limit of {} bytes\n  remedy: raise the limit, or \
         drop tensors that are no longer needed\n  note: tensors hold {live} bytes now",
        2 * MIB,
        live + MIB
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(memory::stats().live_bytes, live);
    let fits = bytes(MIB);
    assert_eq!(held.numel(), fits.numel());
    assert!(fits.cast(DType::F32).is_err());
    assert!(Tensor::scalar(1.0_f32).cast(DType::F64).is_ok());
    drop(fits);
    assert!(Tensor::zeros(DType::U8, &[MIB as usize]).is_ok());
    memory::set_limit(None);
    assert!(Tensor::zeros(DType::U8, &[2 * MIB as usize]).is_ok());
}

fn threads_keep_the_counters_straight() {
    let before = memory::stats();
    std::thread::scope(|scope| {
        for seed in 0..4_u64 {
            scope.spawn(move || {
                let mut kept = Vec::new();
                for i in 0..2_000 {
                    let mut tensor = bytes(2 + (seed * 7919 + i * 104_729) % 5_000);
                    tensor.as_bytes_mut().unwrap().fill(seed as u8);
                    kept.push(tensor);
                    if i % 3 == 0 {
                        let tensor = kept.swap_remove(i as usize % kept.len());
                        assert!(tensor.as_bytes().unwrap().iter().all(|&b| b == seed as u8));
                    }
                }
            });
        }
    });
    let after = memory::stats();
    assert_eq!(after.live_bytes, before.live_bytes);
    assert_eq!(after.allocations, before.allocations + 8_000);
    memory::trim();
    assert_eq!(memory::stats().cached_bytes, 0);
}
