//! A request to stop. It is for whatever runs in the process, so this test is alone in its file.

use std::sync::atomic::{AtomicUsize, Ordering};

use fluvial_core::{Program, Tensor, Var, interrupt};
use fluvial_ops::{host_call, lt, register_host, while_loop};

static TRIPS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn a_loop_without_end_stops_on_request() {
    register_host("test.stop", |x| {
        if TRIPS.fetch_add(1, Ordering::Relaxed) == 4 {
            interrupt::request();
        }
        Ok(vec![x[0].clone()])
    });
    let endless = |x: &[Var]| {
        let goes_on = |v: &[Var]| lt(&v[0], &Var::scalar(1.0));
        while_loop(&[&x[0]], goes_on, |v| host_call("test.stop", &[&v[0]], &[v[0].ty()], None))
    };
    let zero = Tensor::scalar(0.0);
    let program = Program::build(&[("x", zero.ty())], endless).unwrap();
    let tracked = Var::new(zero.clone()).track().unwrap();
    let runs: [&dyn Fn() -> fluvial_core::Result<Vec<Var>>; 3] = [
        &|| endless(&[Var::new(zero.clone())]),
        &|| program.apply(&[&Var::new(zero.clone())]),
        &|| program.apply(&[&tracked]),
    ];
    for run in runs {
        TRIPS.store(0, Ordering::Relaxed);
        let error = run().unwrap_err();
        assert!(error.to_string().contains("stopped on request"), "{error}");
        assert_eq!(TRIPS.load(Ordering::Relaxed), 5);
    }
    assert!(interrupt::check().is_ok(), "a request is spent when it is noticed");
}
