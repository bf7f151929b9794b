//! Inputs for the readers of files and calls of ops, each following from its seed: `fuzz TARGET FIRST LAST BOARD`.
//!
//! Whoever runs it watches it: the seed under way stands in the file `BOARD` (8 bytes; -2 at the end), a panic is a
//! line `fault panic SEED …`, and the counts are the last line. `make fuzz` does.

#[path = "../../../../data/tests/common/exercise.rs"]
mod exercise;
#[path = "../../../../bridge/tests/common/mod.rs"]
mod onnx;
#[path = "../../../../data/tests/common/repair.rs"]
mod repair;
mod seeds;
mod targets;

use std::error::Error;
use std::fs::File;
use std::io::{Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

type Done<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Done {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, first, last, board] = &args[..] else {
        println!("{}", targets::NAMES.join(" "));
        return Ok(());
    };
    let target = targets::target(name)?;
    let (first, last): (u64, u64) = (first.parse()?, last.parse()?);
    let mut board = File::options().write(true).open(board)?;
    let (mut accepted, mut refused, mut panics) = (0, 0, 0);
    for seed in first..last {
        tell(&mut board, seed as i64)?;
        match catch_unwind(AssertUnwindSafe(|| target(seed))) {
            Ok(true) => accepted += 1,
            Ok(false) => refused += 1,
            Err(_) => {
                panics += 1;
                println!("fault panic {seed} {name}");
            }
        }
    }
    println!("made returned={accepted} refused={refused} panic={panics}");
    tell(&mut board, -2)
}

fn tell(board: &mut File, seed: i64) -> Done {
    board.rewind()?;
    Ok(board.write_all(&seed.to_le_bytes())?)
}
