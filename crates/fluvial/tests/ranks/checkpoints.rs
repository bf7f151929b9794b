//! Runs of ranks that are saved and go on.

use super::*;

/// Runs a program on ranks with checkpoints in folders of their own, up to a step or to its end.
fn checkpointed(
    program: &Program,
    folders: &[std::path::PathBuf],
    (resume, until): (bool, usize),
) -> Result<Vec<(States, Vec<f64>)>> {
    Threads::run(folders.len(), |comm| {
        let state = State::new();
        let executor = Executor::new(program, state.clone())?;
        let kept = Checkpoints::new(&folders[comm.rank()]).every_steps(3);
        let trips = std::cell::Cell::new(0);
        let ends = |_: &fluvial::runtime::Trip<'_>| {
            trips.set(trips.get() + 1);
            trips.get() > until
        };
        let ended = executor.call().until(&ends).checkpoints(&kept, resume).start()?;
        let losses = match ended {
            fluvial::runtime::Outcome::Done(outputs) => vec![outputs[0].item::<f64>()?],
            _ => Vec::new(),
        };
        Ok((states(&state)?, losses))
    })
}

/// A run goes on with another number of ranks: parts are cut anew, and readers go on behind what all have read.
#[test]
fn another_number_of_ranks_goes_on() -> Result<()> {
    let program = reading(&reader("ranks.other", 2)?)?;
    let root = std::env::temp_dir().join(format!("fluvial-ranks-{}", std::process::id()));
    let compiled = |program: &Program| -> Result<Program> {
        Ok(Executor::new(program, State::new())?.compiled().program.clone())
    };
    for (before, after) in [(2, 3), (3, 2), (1, 2), (2, 1)] {
        let mut ends = Vec::new();
        for strategy in Strategy::ALL {
            let of = |n: usize| distribute(&program, &Distribution::new(strategy).world(n));
            let folder = root.join(format!("{}-{before}-{after}", strategy.name()));
            let folders = |n: usize| -> Vec<_> {
                (0..n).map(|rank| folder.join(format!("{rank}-of-{n}"))).collect()
            };
            let stopped = checkpointed(&of(before)?, &folders(before), (false, 4))?;
            assert!(stopped[0].1.is_empty(), "it was to be stopped");
            let mut all = Vec::new();
            for folder in folders(before) {
                let (_, path) = Checkpoints::new(&folder).list()?.swap_remove(0);
                all.push(fluvial::runtime::Checkpoint::read(&path)?);
            }
            assert_eq!(all[0].step, 3);
            let (then, alone, now) =
                (compiled(&of(before)?)?, compiled(&of(1)?)?, compiled(&of(after)?)?);
            let again = Threads::run(after, |comm| {
                let (rank, world) = (comm.rank(), after);
                let made =
                    OtherRanks { all: &all, then: &then, alone: &alone, now: &now, rank, world };
                let (checkpoint, again) = made.checkpoint()?;
                Checkpoints::new(&folders(after)[rank]).adopt(&checkpoint)?;
                Ok(again)
            })?;
            assert_eq!(again[0] as usize, 3 * before % after);
            let cut = of(after)?;
            let ranks = checkpointed(&cut, &folders(after), (true, usize::MAX))?;
            ends.push((whole_states(&cut, &ranks)?, ranks[0].1.clone()));
        }
        same_bits(&[ends[0].0.clone(), ends[1].0.clone(), ends[2].0.clone()]);
        assert_eq!(ends[0].1, ends[1].1);
        assert_eq!(ends[0].1.len(), 1, "it went on to its end");
    }
    std::fs::remove_dir_all(&root).map_err(|error| Error::internal(error.to_string()))?;
    Ok(())
}

/// All ranks stop before the same step if one of them is asked to, and go on to the bits of a run that nobody stopped.
#[test]
fn ranks_stop_together() -> Result<()> {
    let program = reading(&reader("ranks.stop", 2)?)?;
    let root = std::env::temp_dir().join(format!("fluvial-ranks-stop-{}", std::process::id()));
    let cut = distribute(&program, &Distribution::new(Strategy::ShardedOptimizer).world(2))?;
    let run = |resume: bool, asked: Option<i32>| {
        Threads::run(2, |comm| {
            let state = State::new();
            let executor = Executor::new(&cut, state.clone())?;
            let own = fluvial::dist::current();
            let steps = std::sync::atomic::AtomicI32::new(0);
            let rank = comm.rank();
            let kept = Checkpoints::new(root.join(rank.to_string())).every_steps(100);
            let kept = kept.stop_together(move |_| {
                let step = steps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let flag = i32::from(rank == 1 && asked == Some(step));
                let any = own.all_reduce(Tensor::scalar(flag), fluvial::dist::Reduction::Max)?;
                Ok(Agreed { stops: any.item::<i32>()? != 0, saved: None })
            });
            match executor.call().checkpoints(&kept, resume).run() {
                Ok(_) => Ok(Some(states(&state)?)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {
                    assert!(error.to_string().contains("after step 5"), "{error}");
                    Ok(None)
                }
                Err(error) => Err(error),
            }
        })
    };
    let stopped = run(false, Some(5))?;
    assert!(stopped.iter().all(Option::is_none));
    let resumed = run(true, None)?;
    let whole = Threads::run(2, |_| {
        let state = State::new();
        Executor::new(&cut, state.clone())?.run(&[])?;
        states(&state)
    })?;
    for (resumed, whole) in resumed.into_iter().zip(whole) {
        same_bits(&[resumed.expect("it went on"), whole]);
    }
    std::fs::remove_dir_all(&root).map_err(|error| Error::internal(error.to_string()))?;
    Ok(())
}

/// Who may write no more ends with the reason.
#[test]
fn a_guard_refuses_to_write() -> Result<()> {
    let program = spread(&reading(&reader("ranks.guard", 2)?)?)?;
    let folder = std::env::temp_dir().join(format!("fluvial-ranks-guard-{}", std::process::id()));
    let kept = Checkpoints::new(&folder).every_steps(1);
    let kept = kept.guard(|| Err(Error::state("a later start writes there")));
    let executor = Executor::new(&program, State::new())?;
    let error = executor.call().checkpoints(&kept, false).run().expect_err("it is refused");
    assert!(error.to_string().contains("a later start"), "{error}");
    assert!(Checkpoints::new(&folder).list()?.is_empty());
    std::fs::remove_dir_all(&folder).map_err(|error| Error::internal(error.to_string()))?;
    Ok(())
}

/// A rank that cannot write for a while costs the others nothing: the latest checkpoint that all have stays.
#[test]
fn a_full_disk_of_one_rank() -> Result<()> {
    let program = spread(&reading(&reader("ranks.full", 2)?)?)?;
    let root = std::env::temp_dir().join(format!("fluvial-ranks-full-{}", std::process::id()));
    let steps = Threads::run(2, |comm| {
        let (own, rank) = (fluvial::dist::current(), comm.rank());
        let n_written = std::sync::atomic::AtomicU32::new(0);
        let kept = Checkpoints::new(root.join(rank.to_string())).every_steps(1).keep(2);
        let kept = kept.guard(move || {
            let n = n_written.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            // It is asked before and behind what is written.
            match rank == 1 && n >= 4 {
                true => Err(Error::new(ErrorKind::File, "no space left on the device")),
                false => Ok(()),
            }
        });
        let kept = kept.tell(|_| ()).stop_together(move |saved| {
            let all = own.all_gather(Tensor::from_slice(&[saved.unwrap_or(0) as i64], &[1])?)?;
            let all = all.to_vec::<i64>()?;
            let saved = Some(all[0] as u64).filter(|step| *step > 0 && all[0] == all[1]);
            Ok(Agreed { stops: false, saved })
        });
        Executor::new(&program, State::new())?.call().checkpoints(&kept, false).run()?;
        let found = Checkpoints::new(root.join(rank.to_string())).list()?;
        Ok(found.into_iter().map(|(step, _)| step).collect::<Vec<u64>>())
    })?;
    let last = steps[0][0];
    assert!(last > 4, "too few steps: {steps:?}");
    assert_eq!(steps, [vec![last, last - 1, 2], vec![2, 1]]);
    std::fs::remove_dir_all(&root).map_err(|error| Error::internal(error.to_string()))?;
    Ok(())
}
