//! Every stage of readers, and what is refused.

mod sources;

use std::sync::Arc;

use fluvial_data::reader::{
    Arrays, Function, Pad, register_dataset, register_function, unregister_dataset,
};
use fluvial_data::{Dataset, Field, Position, Reader};
use fluvial_tensor::{DType, Error, Result, Tensor};
use sources::{Counting, Sequences, all, field, number_arrays, numbers, register, seen};

fn fields(text: &str) -> String {
    register();
    let open = text.parse::<Reader>().unwrap().open().unwrap_or_else(|e| panic!("{text}: {e}"));
    let fields = open.fields().iter().map(|field| format!("{}: {}", field.name, field.ty));
    fields.collect::<Vec<_>>().join(", ")
}

fn len(text: &str) -> Option<u64> {
    register();
    text.parse::<Reader>().unwrap().open().unwrap().len(0)
}

fn fault(text: &str) -> String {
    register();
    let read = |reader: Reader| reader.iter()?.collect::<Result<Vec<_>>>();
    match text.parse().and_then(read) {
        Ok(results) => panic!("{text} gave {} results", results.len()),
        Err(error) => error.to_string(),
    }
}

fn sorted(mut numbers: Vec<i64>) -> Vec<i64> {
    numbers.sort_unstable();
    numbers
}

#[test]
fn batches_and_what_is_left() {
    assert_eq!(seen(&numbers(5).batch(2, false), 0), [vec![0.0, 1.0], vec![2.0, 3.0], vec![4.0]]);
    assert_eq!(seen(&numbers(5).batch(2, true), 0), [[0.0, 1.0], [2.0, 3.0]]);
    assert_eq!(fields(r#"memory("numbers").batch(4)"#), "x: i64[batch], y: f32[batch, 1]");
    assert_eq!(fields(r#"memory("numbers").batch(4, true)"#), "x: i64[4], y: f32[4, 1]");
    assert_eq!(fields(r#"memory("numbers").take(20).batch(4)"#), "x: i64[4], y: f32[4, 1]");
    assert_eq!(fields(r#"memory("numbers").batch(100)"#), "x: i64[23], y: f32[23, 1]");
    assert_eq!(fields(r#"stream("counting").batch(4)"#), "x: i64[batch], y: f32[batch, 1]");
    assert_eq!(
        fields(r#"stream("counting").batch(4).batch(2)"#),
        "x: i64[batch_2, batch], y: f32[batch_2, batch, 1]"
    );
    assert_eq!(len(r#"memory("numbers").batch(4)"#), Some(6));
    assert_eq!(len(r#"memory("numbers").batch(4, true)"#), Some(5));
    assert_eq!(len(r#"stream("counting").batch(4)"#), None);
    assert_eq!(
        seen(&"stream(\"counting\").batch(8)".parse().unwrap(), 1)[2],
        [256.0, 289.0, 324.0]
    );
}

#[test]
fn batches_of_batches() {
    let reader = numbers(6).batch(2, false).batch(3, false);
    assert_eq!(reader.open().unwrap().fields()[0].ty.to_string(), "i64[3, 2]");
    assert_eq!(seen(&reader, 0), [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]);
    let error = numbers(5).batch(2, false).batch(3, false).iter().unwrap().next().unwrap();
    assert!(error.unwrap_err().to_string().contains("field `x` has the sizes [2] and [1]"));
}

#[test]
fn shuffles_are_permutations_by_seed_and_pass() {
    let text = r#"memory("numbers").shuffle(7)"#;
    let first = all(text);
    assert_eq!(first, all(text));
    assert_ne!(first, (0..23).collect::<Vec<_>>());
    assert_eq!(sorted(first.clone()), (0..23).collect::<Vec<_>>());
    assert_ne!(first, all(r#"memory("numbers").shuffle(8)"#));
    let open = text.parse::<Reader>().unwrap().open().unwrap();
    let second = open.iter_from(Position { epoch: 1, index: 0 }).unwrap();
    let second: Vec<i64> = second.map(|sample| sample.unwrap()[0].item().unwrap()).collect();
    assert_ne!(first, second);
    assert_eq!(sorted(second), (0..23).collect::<Vec<_>>());
    // The same seed gives the same order, so that files side by side stay together.
    let pairs = r#"zip(memory("numbers").select("x").shuffle(7), memory("numbers").select("y").shuffle(7))"#;
    let pairs = pairs.parse::<Reader>().unwrap();
    let x = seen(&pairs, 0).concat();
    assert_eq!(x.iter().map(|x| x * x).collect::<Vec<_>>(), seen(&pairs, 1).concat());
}

#[test]
fn streams_are_shuffled_within_a_window() {
    let order = all(r#"stream("counting").shuffle(3, buffer=5)"#);
    assert_ne!(order, (0..19).collect::<Vec<_>>());
    assert_eq!(sorted(order.clone()), (0..19).collect::<Vec<_>>());
    // Nothing comes before it was read.
    assert!(order.iter().enumerate().all(|(place, &x)| x < place as i64 + 5));
    assert_eq!(all(r#"stream("counting").shuffle(3, buffer=1)"#), (0..19).collect::<Vec<_>>());
    assert!(fault(r#"stream("counting").shuffle(3)"#).contains("buffer=1000"));
}

#[test]
fn parts_of_a_pass() {
    for source in [r#"memory("numbers").take(19)"#, r#"stream("counting")"#] {
        let check = |stages: &str, expected: &[i64]| {
            assert_eq!(all(&format!("{source}{stages}")), expected, "{source}{stages}");
        };
        check(".take(3)", &[0, 1, 2]);
        check(".skip(16)", &[16, 17, 18]);
        check(".skip(30)", &[]);
        check(".take(0)", &[]);
        check(".skip(2).take(2).skip(1)", &[3]);
        check(".shard(0, 4)", &[0, 4, 8, 12]);
        check(".shard(rank=2, world=4)", &[2, 6, 10, 14]);
        check(".shard(3, 4)", &[3, 7, 11, 15]);
        check(".shard(of=1).take(2)", &[0, 1]);
        check(".shard(0, 1).take(2)", &[0, 1]);
        check(".shard(0, 20)", &[]);
        check(".take(4).batch(2).skip(1)", &[2, 3]);
    }
    assert_eq!(all(r#"memory("numbers").take(2).repeat(3)"#), [0, 1, 0, 1, 0, 1]);
    // The passes of the stream start at their numbers.
    assert_eq!(all(r#"stream("counting").take(2).repeat(3)"#), [0, 1, 1, 2, 2, 3]);
    assert_eq!(all(r#"stream("counting").take(0).repeat(1000000000000000000)"#), []);
    // Pass 1 of two at a time is passes 2 and 3.
    for source in [r#"stream("counting").take(19)"#, r#"memory("numbers").shuffle(1)"#] {
        let pass = |stages: &str, epoch| -> Vec<i64> {
            let open = format!("{source}{stages}").parse::<Reader>().unwrap().open().unwrap();
            let results = open.iter_from(Position { epoch, index: 0 }).unwrap();
            results.map(|result| result.unwrap()[0].item().unwrap()).collect()
        };
        assert_eq!(pass(".repeat(2)", 1), [pass("", 2), pass("", 3)].concat());
    }
    let repeated = all(r#"memory("numbers").shuffle(1).repeat(2)"#);
    assert_ne!(repeated[..23], repeated[23..]);
    assert_eq!(sorted(repeated[23..].to_vec()), (0..23).collect::<Vec<_>>());
}

#[test]
fn elements_and_fields() {
    let both = |text: &str| {
        let reader = text.parse::<Reader>().unwrap();
        (fields(text), seen(&reader, 0).concat())
    };
    for source in [r#"memory("numbers").take(3)"#, r#"stream("counting").take(3)"#] {
        for tail in ["", ".batch(3, true)"] {
            let rows = if tail.is_empty() { "" } else { "3" };
            let (types, x) = both(&format!(r#"{source}.cast("x", f16){tail}"#));
            assert!(types.starts_with(&format!("x: f16[{rows}]")), "{types}");
            assert_eq!(x, [0.0, 1.0, 2.0]);
            let (types, x) = both(&format!(r#"{source}.scale("x", 0.5, offset=1){tail}"#));
            assert!(types.starts_with(&format!("x: f32[{rows}]")), "{types}");
            assert_eq!(x, [1.0, 1.5, 2.0]);
            let (types, x) = both(&format!(r#"{source}.map("negate"){tail}"#));
            assert!(types.starts_with(&format!("x: i64[{rows}]")), "{types}");
            assert_eq!(x, [0.0, -1.0, -2.0]);
            let (_, y) = both(&format!(r#"{source}.select("y", "x"){tail}"#));
            assert_eq!(y, [0.0, 1.0, 4.0]);
        }
    }
    assert_eq!(fields(r#"memory("numbers").select("y").rename("y", "z")"#), "z: f32[1]");
    assert_eq!(fields(r#"memory("numbers").cast("y", f64).scale("y", 2)"#), "x: i64[], y: f64[1]");
}

#[test]
fn filters_leave_out() {
    let odd = all(r#"memory("numbers").filter("odd")"#);
    assert_eq!(odd, (0..23).filter(|x| x % 2 == 1).collect::<Vec<_>>());
    assert_eq!(all(r#"memory("numbers").filter("odd").take(3).batch(2)"#), [1, 3, 5]);
    assert_eq!(len(r#"memory("numbers").filter("odd")"#), None);
}

#[test]
fn readers_side_by_side_and_in_turns() {
    let zip =
        r#"zip(memory("numbers"), memory("numbers").rename("x", "a").rename("y", "b").skip(0))"#;
    assert_eq!(fields(zip), "x: i64[], y: f32[1], a: i64[], b: f32[1]");
    assert_eq!(seen(&format!("{zip}.batch(4)").parse().unwrap(), 3)[1], [16.0, 25.0, 36.0, 49.0]);
    let shorter = r#"zip(memory("numbers").select("x"), stream("counting").select("y"))"#;
    assert_eq!(all(shorter).len(), 19);
    assert!(
        fault(r#"zip(memory("numbers").select("x"), memory("others").select("y"))"#)
            .contains("have 23 and 9 results")
    );
    assert!(fault(r#"zip(memory("numbers"), memory("numbers"))"#).contains("a field `x`"));

    let turns = r#"interleave(memory("numbers").take(4), memory("numbers").skip(20).take(0), memory("numbers").skip(10).take(2))"#;
    let expected = [0, 10, 1, 11, 2, 3];
    assert_eq!(all(turns), expected);
    assert_eq!(all(&format!("{turns}.batch(4)")), expected);
    assert_eq!(len(turns), Some(6));
    assert_eq!(sorted(all(&format!("{turns}.shuffle(3).batch(5)"))), [0, 1, 2, 3, 10, 11]);
    let streams = r#"interleave(stream("counting").take(4), memory("numbers").skip(10).take(2))"#;
    assert_eq!(all(streams), expected);
    assert!(
        fault(r#"interleave(memory("numbers"), memory("sequences"))"#).contains("different fields")
    );
}

#[test]
fn fields_by_number_are_numbered_anew() {
    let one = |n: f32| Reader::of([("0", Tensor::full(&[3], n).unwrap())]).unwrap();
    let names: Vec<String> = Reader::zip([one(1.0), one(2.0)])
        .open()
        .unwrap()
        .fields()
        .iter()
        .map(|field| field.name.to_string())
        .collect();
    assert_eq!(names, ["0", "1"]);
}

#[test]
fn sequences_are_padded() {
    register();
    assert_eq!(
        fields(r#"memory("sequences").pad("s", length="n", mask="m").batch(4)"#),
        "s: i64[batch, n], x: i64[batch], n: i64[batch], m: bool[batch, n]"
    );
    let reader = Reader::memory("sequences").pad(Pad::of(["s"]).value(-1.0).length("n").mask("m"));
    let results: Vec<Vec<Tensor>> =
        reader.clone().batch(4, false).iter().unwrap().collect::<Result<_>>().unwrap();
    assert_eq!(results.len(), 6);
    for (b, result) in results.iter().enumerate() {
        let samples: Vec<u64> = (b as u64 * 4..23.min(b as u64 * 4 + 4)).collect();
        let longest = samples.iter().map(|&i| Sequences::size(i)).max().unwrap();
        assert_eq!(result[0].dims(), [samples.len(), longest]);
        for (row, &i) in samples.iter().enumerate() {
            let size = Sequences::size(i);
            assert_eq!(result[2].get_f64(&[row]).unwrap() as usize, size);
            for k in 0..longest {
                let expected = if k < size { i as f64 } else { -1.0 };
                assert_eq!(result[0].get_f64(&[row, k]).unwrap(), expected);
                assert_eq!(result[3].get_f64(&[row, k]).unwrap() != 0.0, k < size);
            }
        }
    }
    let multiple = r#"memory("sequences").pad(multiple=4, mask="m")"#;
    for batch in multiple.parse::<Reader>().unwrap().batch(5, false).iter().unwrap() {
        let batch = batch.unwrap();
        assert_eq!(batch[0].dims()[1] % 4, 0);
        assert_eq!(batch[2].dims(), batch[0].dims());
    }
    assert_eq!(
        fields(r#"memory("sequences").pad("s", size=9).batch(23)"#),
        "s: i64[23, 9], x: i64[23]"
    );
    let batch = Reader::memory("sequences").pad(Pad::of(["s"]).size(9)).batch(23, true);
    assert_eq!(seen(&batch, 0)[0].len(), 23 * 9);
    let short = fault(r#"memory("sequences").pad("s", size=3).batch(4)"#);
    assert!(short.contains("6 elements cannot be padded to 3"), "{short}");
    assert!(short.contains("in field `s`"), "{short}");
}

#[test]
fn sequences_of_similar_size_meet() {
    register();
    let reader = Reader::memory("sequences").pad(Pad::of(["s"])).bucket(3, "s", &[2, 4], false);
    assert_eq!(reader.open().unwrap().fields()[0].ty.to_string(), "i64[batch, n]");
    let results: Vec<Vec<Tensor>> = reader.iter().unwrap().collect::<Result<_>>().unwrap();
    let range = |size: usize| [2, 4].iter().filter(|&&limit| limit < size).count();
    let mut all = Vec::new();
    for result in &results {
        let numbers: Vec<u64> = result[1].to_f64s().iter().map(|&x| x as u64).collect();
        let ranges: Vec<usize> = numbers.iter().map(|&i| range(Sequences::size(i))).collect();
        assert!(ranges.iter().all(|&r| r == ranges[0]));
        assert!(numbers.is_sorted());
        all.extend(numbers);
    }
    all.sort_unstable();
    assert_eq!(all, (0..23).collect::<Vec<_>>());
    let dropping = Reader::memory("sequences").pad(Pad::of(["s"])).bucket(3, "s", &[2, 4], true);
    assert!(seen(&dropping, 1).iter().all(|numbers| numbers.len() == 3));
}

#[test]
fn uneven_batches_name_field_sizes_and_remedy() {
    for stage in ["batch(4)", "bucket(4, \"s\", sizes=[9])"] {
        let text = fault(&format!(r#"memory("sequences").{stage}"#));
        assert!(text.starts_with("field `s` has the sizes [1] and [6] in one batch"), "{text}");
        assert!(text.contains(r#"remedy: put `.pad("s")` before it"#), "{text}");
    }
}

#[test]
fn what_does_not_fit_is_refused_when_opened() {
    for (text, expected) in [
        (
            r#"memory("numbers").cast("z", f32)"#,
            "there is no field `z`\n  remedy: the fields are `x`, `y`",
        ),
        (r#"memory("numbers").select("x", "x")"#, "the field `x` is named twice"),
        (r#"memory("numbers").rename("x", "y")"#, "two fields are called `y`"),
        (r#"memory("numbers").pad()"#, "no field differs in its first size"),
        (r#"memory("numbers").pad("x")"#, "field `x` has no axis to pad"),
        (r#"memory("numbers").bucket(2, "x", sizes=[3])"#, "no first axis"),
        (r#"memory("numbers").repeat(18446744073709551615)"#, "more results than can be counted"),
        (r#"memory("gone")"#, "the host did not register the dataset `gone`"),
        (r#"stream("gone")"#, "the host did not register the stream `gone`"),
        (r#"memory("numbers").map("gone")"#, "the host did not register the function `gone`"),
        (r#"memory("numbers").filter("gone")"#, "the host did not register the predicate `gone`"),
        (r#"strange("file")"#, "`strange`"),
    ] {
        let text = fault(text);
        assert!(text.contains(expected), "{text}");
    }
    assert!(
        fault(r#"memory("numbers").cast("z", f32)"#)
            .contains(r#"note: in the stage `cast("z", f32)` of a reader"#)
    );
    let reader = numbers(3).scale("x", f64::NAN, 0.0);
    assert!(reader.open().unwrap_err().to_string().contains("not a finite number"));
    let mut deep = numbers(3);
    for _ in 0..300 {
        deep = deep.take(2);
    }
    assert!(deep.open().unwrap_err().to_string().contains("at most 200 stages"));
}

#[test]
fn functions_and_streams_must_keep_their_word() {
    register();
    let wrong = Function { call: Box::new(|_| Ok(vec![Tensor::scalar(1_i32)])), fields: None };
    register_function("wrong count", Arc::new(wrong));
    assert!(
        fault(r#"memory("numbers").map("wrong count")"#)
            .contains("the function `wrong count` gave a sample of 1 tensors, not of 2")
    );
    let fields = Some(vec![field("z", "f32[2]")]);
    let call = |sample: Vec<Tensor>| Ok(vec![sample[1].clone()]);
    register_function("wrong size", Arc::new(Function { call: Box::new(call), fields }));
    assert!(fault(r#"memory("numbers").map("wrong size")"#).contains(
        "the function `wrong size` gave f32[1] as field `z`, which is declared as f32[2]"
    ));
    let stream = Counting { fields: vec![field("x", "i32[]"), field("y", "f32[1]")], n: 3 };
    let reader = Reader::stream_of("wrong stream", Arc::new(stream)).unwrap();
    let error = reader.iter().unwrap().next().unwrap().unwrap_err();
    assert!(error.to_string().contains("the stream gave i64[] as field `x`"));
}

#[test]
fn functions_may_change_the_fields() {
    register();
    let call = |sample: Vec<Tensor>| Ok(vec![sample[0].cast(DType::F64)?.reshape(&[1])?]);
    let function =
        Arc::new(Function { call: Box::new(call), fields: Some(vec![field("z", "f64[1]")]) });
    let reader = numbers(4).map_by("to z", function).unwrap().batch(2, false);
    assert_eq!(reader.open().unwrap().fields()[0].ty.to_string(), "f64[2, 1]");
    assert_eq!(seen(&reader, 0), [[0.0, 1.0], [2.0, 3.0]]);
}

#[test]
fn names_are_held_as_long_as_readers() {
    let reader = Reader::of(number_arrays(5)).unwrap();
    let text = reader.to_string();
    let again = Reader::of(number_arrays(5)).unwrap();
    assert_eq!(reader, again);
    assert_ne!(reader, Reader::of(number_arrays(6)).unwrap());
    drop(reader);
    let parsed: Reader = text.parse().unwrap();
    assert_eq!(parsed, again);
    let open = parsed.open().unwrap();
    drop(again);
    assert_eq!(open.iter_from(Position::default()).unwrap().count(), 5);
    drop(open);
    let error: Error = parsed.open().unwrap_err();
    assert!(
        error.to_string().contains("the host did not register the dataset `arrays-"),
        "{error}"
    );

    let dataset = |n| -> Arc<dyn Dataset> { Arc::new(Arrays::new(number_arrays(n)).unwrap()) };
    let held = Reader::dataset("held", dataset(2)).unwrap();
    assert!(Reader::dataset("held", dataset(2)).is_err());
    drop(held);
    assert!(Reader::dataset("held", dataset(3)).is_ok());
    register_dataset("replaced", dataset(2));
    register_dataset("replaced", dataset(3));
    assert_eq!(Reader::memory("replaced").iter().unwrap().count(), 3);
    assert!(unregister_dataset("replaced") && !unregister_dataset("replaced"));
    assert!(Reader::memory("replaced").open().is_err());
}

#[test]
fn one_gather_per_batch() {
    struct Counted(Arrays, std::sync::Mutex<Vec<usize>>);
    impl Dataset for Counted {
        fn fields(&self) -> &[Field] {
            self.0.fields()
        }
        fn len(&self) -> u64 {
            self.0.len()
        }
        fn gather(&self, numbers: &[u64]) -> Result<Vec<Tensor>> {
            self.1.lock().unwrap().push(numbers.len());
            self.0.gather(numbers)
        }
        fn get(&self, number: u64) -> Result<Vec<Tensor>> {
            panic!("sample {number} was asked for alone")
        }
    }
    let arrays = Arrays::new(number_arrays(23)).unwrap();
    let dataset = Arc::new(Counted(arrays, Default::default()));
    let reader = Reader::dataset("counted", dataset.clone()).unwrap();
    let reader = reader.skip(1).shuffle(2).repeat(2).shard(1, 2).take(20).cast("x", DType::F32);
    let reader = reader.scale("x", 2.0, 0.0).rename("x", "z").prefetch(1).batch(8, false);
    assert_eq!(reader.iter().unwrap().count(), 3);
    assert_eq!(*dataset.1.lock().unwrap(), [8, 8, 4]);
}

#[test]
fn cursors_know_where_they_stand() {
    let open = numbers(3).open().unwrap();
    let at = |epoch, index| Position { epoch, index };
    let mut cursor = open.start(at(4, 1)).unwrap();
    assert!(cursor.has_next().unwrap());
    assert_eq!(cursor.next().unwrap().unwrap()[0].item::<i64>().unwrap(), 1);
    assert_eq!(cursor.position(), at(4, 2));
    assert!(cursor.next().unwrap().is_some());
    assert_eq!((cursor.position(), cursor.has_next().unwrap()), (at(4, 3), false));
    assert!(cursor.next().unwrap().is_none() && cursor.next().unwrap().is_none());
    assert_eq!((cursor.position(), cursor.has_next().unwrap()), (at(5, 0), false));
    cursor.next_epoch();
    assert_eq!((cursor.position(), cursor.has_next().unwrap()), (at(5, 0), true));
    cursor.next().unwrap();
    cursor.next_epoch();
    assert_eq!(cursor.position(), at(6, 0));
    assert_eq!(open.start(at(0, 3)).unwrap().next().unwrap().map(|_| ()), None);
    let error = open.start(at(0, 4)).unwrap_err().to_string();
    assert!(error.starts_with("a pass has 3 results, and cannot be continued after 4"), "{error}");
}
