//! Reading ahead: threads start late, end early, and their faults arrive.

mod sources;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fluvial_data::reader::{Arrays, Function};
use fluvial_data::{Dataset, Field, Position, Reader};
use fluvial_tensor::{Error, Result, Tensor};
use sources::{number_arrays, numbers, register, seen};

/// Counts what is asked for, and fails at one number.
struct Watched {
    arrays: Arrays,
    n_asked: AtomicU64,
    fails_at: AtomicU64,
}

impl Watched {
    fn new(n: i64) -> Arc<Watched> {
        let arrays = Arrays::new(number_arrays(n)).unwrap();
        Arc::new(Watched { arrays, n_asked: 0.into(), fails_at: u64::MAX.into() })
    }
}

impl Dataset for Watched {
    fn fields(&self) -> &[Field] {
        self.arrays.fields()
    }

    fn len(&self) -> u64 {
        self.arrays.len()
    }

    fn gather(&self, numbers: &[u64]) -> Result<Vec<Tensor>> {
        self.n_asked.fetch_add(numbers.len() as u64, Ordering::SeqCst);
        match numbers.contains(&self.fails_at.load(Ordering::SeqCst)) {
            true => Err(Error::state("the disk is on fire")),
            false => self.arrays.gather(numbers),
        }
    }
}

/// Waits until something is so; a test that waits in vain fails.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn nothing_is_read_before_it_is_asked_for() {
    let watched = Watched::new(100);
    let reader = Reader::dataset("late", watched.clone()).unwrap().batch(2, false).prefetch(3);
    let open = reader.open().unwrap();
    let mut cursor = open.start(Position::default()).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(watched.n_asked.load(Ordering::SeqCst), 0);
    cursor.next().unwrap();
    until("batches ahead", || watched.n_asked.load(Ordering::SeqCst) >= 6);
    std::thread::sleep(Duration::from_millis(20));
    // One was given, and at most three wait.
    assert!(watched.n_asked.load(Ordering::SeqCst) <= 8);
}

#[test]
fn threads_end_with_their_cursor() {
    let watched = Watched::new(1000);
    let reader = Reader::dataset("dropped", watched.clone()).unwrap().batch(1, false).prefetch(2);
    for n_read in [0, 1, 5, 999, 1000] {
        let mut cursor = reader.open().unwrap().start(Position::default()).unwrap();
        for _ in 0..n_read {
            assert!(cursor.next().unwrap().is_some());
        }
        drop(cursor);
    }
    drop(reader);
    until("threads keep the dataset", || Arc::strong_count(&watched) == 1);
}

#[test]
fn a_thousand_cursors() {
    let watched = Watched::new(50);
    let reader = Reader::dataset("thousand", watched.clone()).unwrap().shuffle(1).batch(4, false);
    let open = reader.prefetch(2).open().unwrap();
    let mut cursors: Vec<_> =
        (0..1000).map(|i| open.start(Position { epoch: i, index: 0 }).unwrap()).collect();
    for (i, cursor) in cursors.iter_mut().enumerate().filter(|(i, _)| i % 8 == 0) {
        assert!(cursor.next().unwrap().is_some(), "{i}");
    }
    drop(cursors);
    for epoch in 0..1000 {
        let mut cursor = open.start(Position { epoch, index: 12 }).unwrap();
        assert_eq!(cursor.next().unwrap().unwrap()[0].dims(), [2]);
    }
    drop(open);
    until("threads keep the dataset", || Arc::strong_count(&watched) == 1);
}

#[test]
fn two_cursors_at_once() {
    let reader = numbers(60).shuffle(3).batch(7, false).prefetch(2);
    let expected = seen(&reader, 0);
    let open = reader.open().unwrap();
    let mut cursors = [0, 4].map(|index| open.start(Position { epoch: 0, index }).unwrap());
    for i in 0..expected.len() {
        let first = cursors[0].next().unwrap().unwrap()[0].to_f64s();
        assert_eq!(first, expected[i]);
        let second = cursors[1].next().unwrap().map(|result| result[0].to_f64s());
        assert_eq!(second.as_ref(), expected.get(i + 4));
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(seen(&reader, 0), expected));
        }
    });
}

#[test]
fn an_error_arrives_in_its_place_and_can_be_overcome() {
    for stages in ["", ".prefetch(2)"] {
        let watched = Watched::new(20);
        let name = format!("failing{stages}");
        let reader = Reader::dataset(&name, watched.clone()).unwrap();
        let text = format!("{reader}.batch(2){stages}").parse::<Reader>().unwrap();
        watched.fails_at.store(6, Ordering::SeqCst);
        let mut cursor = text.open().unwrap().start(Position::default()).unwrap();
        for _ in 0..3 {
            assert!(cursor.next().unwrap().is_some());
        }
        for _ in 0..2 {
            assert_eq!(cursor.next().unwrap_err().message(), "the disk is on fire");
            assert_eq!(cursor.position(), Position { epoch: 0, index: 3 });
        }
        watched.fails_at.store(u64::MAX, Ordering::SeqCst);
        assert_eq!(cursor.next().unwrap().unwrap()[0].to_f64s(), [6.0, 7.0]);
        assert_eq!(cursor.position().index, 4);
        // The iterator ends with the error instead of repeating it for ever.
        watched.fails_at.store(6, Ordering::SeqCst);
        assert_eq!(text.iter().unwrap().count(), 4);
    }
}

#[test]
fn a_panic_arrives_as_an_error() {
    let call = |sample: Vec<Tensor>| match sample[0].item::<i64>()? {
        5 => panic!("no fives"),
        _ => Ok(sample),
    };
    let function = Arc::new(Function { call: Box::new(call), fields: None });
    let reader = numbers(9).map_by("panics", function).unwrap().prefetch(1);
    let results: Vec<_> = reader.iter().unwrap().collect();
    assert_eq!(results.len(), 6);
    let error = results[5].as_ref().unwrap_err().to_string();
    assert_eq!(error, "a function of a reader panicked: no fives");
}

#[test]
fn a_thread_within_a_thread() {
    register();
    let n_calls = Arc::new(AtomicUsize::new(0));
    let counted = n_calls.clone();
    let call = move |sample| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(sample)
    };
    let function = Arc::new(Function { call: Box::new(call), fields: None });
    let reader = numbers(40).map_by("counts", function).unwrap();
    let reader = reader.prefetch(2).batch(4, false).map("negate").prefetch(3);
    let expected: Vec<Vec<f64>> =
        (0..10).map(|b| (0..4).map(|i| -f64::from(4 * b + i)).collect()).collect();
    assert_eq!(seen(&reader, 0), expected);
    assert_eq!(n_calls.load(Ordering::SeqCst), 40);
}

#[test]
fn batches_come_from_memory_that_is_used_again() {
    let x = Tensor::zeros(fluvial_tensor::DType::F32, &[4096, 64]).unwrap();
    let reader = Reader::of([("x", x)]).unwrap().shuffle(1).batch(128, true).prefetch(2);
    let open = reader.open().unwrap();
    let mut addresses = std::collections::BTreeSet::new();
    for epoch in 0..4 {
        for result in open.iter_from(Position { epoch, index: 0 }).unwrap() {
            addresses.insert(result.unwrap()[0].data_ptr().addr());
        }
    }
    // Other tests of this process use memory of that size, too, but there are 128 batches here.
    assert!(addresses.len() < 32, "{}", addresses.len());
}
