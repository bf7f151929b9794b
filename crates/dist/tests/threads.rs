//! Ranks that are threads: what they exchange, and what happens when one of them does not come.

use fluvial_dist::{Comm, Reduction, Threads, current};
use fluvial_tensor::{DType, Result, Tensor, bf16};

fn ramp(comm: &dyn Comm, rows: usize) -> Result<Tensor> {
    let first = comm.rank() * rows * 2;
    let elements: Vec<f32> = (first..first + rows * 2).map(|i| i as f32).collect();
    Tensor::from_vec(elements, &[rows, 2])
}

#[test]
fn everybody_gets_the_same_sums_in_the_order_of_the_ranks() -> Result<()> {
    let numbers = [0.1f32, 1e8, -1e8, 0.3];
    for world in 1..=4 {
        let found = Threads::run(world, |comm| {
            assert_eq!((current().rank(), current().world()), (comm.rank(), world));
            let own = || Tensor::scalar(numbers[comm.rank()]);
            let mut all = Vec::new();
            for how in [Reduction::Sum, Reduction::Mean, Reduction::Max, Reduction::Min] {
                all.push(comm.all_reduce(own(), how)?.item::<f32>()?);
            }
            Ok(all)
        })?;
        let given = &numbers[..world];
        let sum = given.iter().copied().reduce(|a, b| a + b).unwrap_or(0.0);
        let most = given.iter().copied().fold(f32::MIN, f32::max);
        let least = given.iter().copied().fold(f32::MAX, f32::min);
        for all in found {
            assert_eq!(all, [sum, sum / world as f32, most, least]);
        }
    }
    Ok(())
}

#[test]
fn parts_come_in_the_order_of_the_ranks() -> Result<()> {
    let found = Threads::run(2, |comm| {
        let x = ramp(comm, 2)?;
        let gathered = comm.all_gather(x.clone())?.to_vec::<f32>()?;
        let scattered = comm.reduce_scatter(x.clone(), Reduction::Sum)?;
        let exchanged = comm.all_to_all(x.clone())?.to_vec::<f32>()?;
        let of_one = comm.broadcast(x, 1)?.to_vec::<f32>()?;
        assert_eq!(scattered.dims(), [1, 2]);
        Ok([gathered, scattered.to_vec::<f32>()?, exchanged, of_one])
    })?;
    let all: Vec<f32> = (0..8).map(|i| i as f32).collect();
    let of_one = all[4..].to_vec();
    assert_eq!(found[0], [all.clone(), vec![4.0, 6.0], vec![0.0, 1.0, 4.0, 5.0], of_one.clone()]);
    assert_eq!(found[1], [all, vec![8.0, 10.0], vec![2.0, 3.0, 6.0, 7.0], of_one]);
    Ok(())
}

#[test]
fn every_element_type_is_exchanged() -> Result<()> {
    Threads::run(3, |comm| {
        for dtype in DType::ALL {
            let own = Tensor::from_f64s(dtype, &[1.0, 0.0], &[2])?;
            assert_eq!(comm.all_gather(own.clone())?.numel(), 6);
            assert!(comm.broadcast(own.clone(), 2)?.bitwise_eq(&own));
            match comm.all_reduce(own, Reduction::Sum) {
                Ok(sum) => assert_eq!(sum.to_f64s(), [3.0, 0.0]),
                // What is not a real number, or only stored, is not added up.
                Err(_) => assert!(dtype.is_bool() || dtype.is_complex() || dtype.size() == 1),
            }
        }
        // Rounded once: 1 + 2^-8 + 2^-8 is a bf16, 1 + 2^-8 alone is rounded to 1.
        let own = [1.0, 0.00390625, 0.00390625][comm.rank()];
        let sum = comm.all_reduce(Tensor::scalar(bf16::from_f32(own)), Reduction::Sum)?;
        assert_eq!(sum.item::<f32>()?, 1.0078125);
        Ok(())
    })
    .map(drop)
}

#[test]
fn one_sends_to_another() -> Result<()> {
    let found = Threads::run(2, |comm| {
        let x = Tensor::from_slice(&[comm.rank() as i64], &[1])?;
        let other = 1 - comm.rank();
        comm.send(x.clone(), other, 7)?;
        comm.barrier()?;
        assert!(comm.send(x.clone(), comm.rank(), 0).is_err());
        assert!(comm.send(x.clone(), 2, 0).is_err());
        comm.recv(x, other, 7)?.item::<i64>()
    })?;
    assert_eq!(found, [1, 0]);
    Ok(())
}

#[test]
fn who_asks_for_something_else_is_told() {
    let fault = Threads::run(2, |comm| match comm.rank() {
        0 => comm.all_reduce(Tensor::scalar(1.0f32), Reduction::Sum),
        _ => comm.all_reduce(Tensor::scalar(1.0f64), Reduction::Sum),
    });
    let text = fault.unwrap_err().to_string();
    assert!(text.contains("rank 0 asks for `all_reduce` of f32[]"), "{text}");
}

#[test]
fn nobody_waits_for_a_rank_that_has_ended() {
    let fault = Threads::run(3, |comm| match comm.rank() {
        1 => Ok(()),
        _ => comm.barrier(),
    });
    let text = fault.unwrap_err().to_string();
    assert!(text.contains("rank 1 has ended") || text.contains("earlier error"), "{text}");
}
