//! Runs that are saved on the way.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use fluvial::core::{ErrorKind, Tensor};
use fluvial::runtime::{Checkpoints, Executor, Observer, Outcome as Ended, Trip};

use crate::fault::Outcome;

/// When and where a run is saved.
#[derive(Args)]
pub struct CheckpointArgs {
    /// Save the run in this folder on the way, and when it is stopped.
    #[arg(long = "checkpoint", value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// How often: after so many trips (`100`), or after a time (`30s`, `5m`, `1h`).
    #[arg(long, value_name = "N|TIME", default_value = "5m", requires = "folder")]
    pub every: Every,
    /// How many of the latest checkpoints are kept.
    #[arg(long, value_name = "K", default_value_t = 2, requires = "folder",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: u32,
    /// Go on from the latest checkpoint; without one, from the start.
    #[arg(long, requires = "folder")]
    pub resume: bool,
}

impl CheckpointArgs {
    /// Whether the run is to be saved.
    pub fn is_wanted(&self) -> bool {
        self.folder.is_some()
    }
}

/// How often a run is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// After so many trips of the loop over the data.
    Trips(u64),
    /// After so much time.
    Time(Duration),
}

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Every, String> {
        let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
            Some(end) => text.split_at(end),
            None => (text, ""),
        };
        let wrong = || "write a number of trips (100) or a time (30s, 5m, 1h)".to_string();
        let number: u64 = number.parse().ok().filter(|&n| n > 0).ok_or_else(wrong)?;
        let seconds = match unit {
            "" => return Ok(Every::Trips(number)),
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return Err(wrong()),
        };
        Ok(Every::Time(Duration::from_secs(number.checked_mul(seconds).ok_or_else(wrong)?)))
    }
}

/// Runs a program to its end or until it is stopped, and saves it on the way if that is wanted. `on_trip` is
/// called before each trip of a loop.
pub fn checkpointed(
    executor: &Executor,
    inputs: &[(&str, Tensor)],
    observer: Option<&dyn Observer>,
    checkpoints: &CheckpointArgs,
    on_trip: &dyn Fn(&Trip<'_>),
) -> Outcome<Ended> {
    let never = |trip: &Trip<'_>| {
        on_trip(trip);
        false
    };
    let mut call = executor.call().feeds(inputs).until(&never);
    if let Some(observer) = observer {
        call = call.observe(observer);
    }
    if let Some(folder) = &checkpoints.folder {
        let kept = Checkpoints::new(folder).keep(checkpoints.keep as usize);
        let kept = match checkpoints.every {
            Every::Trips(trips) => kept.every_steps(trips),
            Every::Time(time) => kept.every(time),
        };
        let ended = call.checkpoints(&kept, checkpoints.resume).start();
        return Ok(ended.map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error.remedy("go on with --resume"),
            _ => error,
        })?);
    }
    Ok(call.start()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_often() {
        let seconds = |n| Ok(Every::Time(Duration::from_secs(n)));
        assert_eq!("100".parse(), Ok(Every::Trips(100)));
        assert_eq!("30s".parse(), seconds(30));
        assert_eq!("5m".parse(), seconds(300));
        assert_eq!("1h".parse(), seconds(3600));
        for wrong in
            ["", "0", "s", "-1", "5d", "1.5m", "99999999999999999999", "9999999999999999999h"]
        {
            assert!(wrong.parse::<Every>().is_err(), "{wrong}");
        }
    }
}
