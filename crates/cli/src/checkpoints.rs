//! Runs that are saved on the way.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use fluvial::core::{ErrorKind, Limits, Tensor};
use fluvial::runtime::{Agreed, Checkpoints, Executor, Notice, Observer, Outcome as Ended, Trip};
use serde_json::json;

use crate::fault::{Outcome, usage};
use crate::journal::Journal;
use crate::limits::{seconds, split};
use crate::out::Out;
use crate::ranks::{Generation, folder_of};

/// When and where a run is saved.
#[derive(Args, Clone)]
pub struct CheckpointArgs {
    /// Write checkpoints of the run to this folder, and one when it is stopped.
    #[arg(long = "checkpoint", value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// How often: after so many iterations (`100`), or after a time (`30s`, `5m`, `1h`).
    #[arg(long, value_name = "N|TIME", default_value = "5m", requires = "folder")]
    pub every: Every,
    /// How many checkpoints to keep, the latest ones.
    #[arg(long, value_name = "K", default_value_t = 2, requires = "folder",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: u32,
    /// Resume the run from the latest checkpoint in the folder; without any, start anew. What the
    /// run started with must be the same: program, inputs, settings and data. Only `--epochs` may differ.
    #[arg(long, requires = "folder")]
    pub resume: bool,
    /// What is special to one of several ranks.
    #[arg(skip)]
    pub of_rank: Option<OfRank>,
}

/// What checkpoints of one of several ranks need besides.
#[derive(Clone, Default)]
pub struct OfRank {
    /// Which start of the run it is.
    pub generation: Option<Generation>,
    /// What all ranks agree on before a step.
    pub agree: Option<Agree>,
}

/// See [`Checkpoints::stop_together`].
pub type Agree = Arc<dyn Fn(Option<u64>) -> fluvial::core::Result<Agreed> + Send + Sync>;

impl OfRank {
    fn applied(&self, kept: Checkpoints) -> Checkpoints {
        let mut kept = kept.not_when_stopped();
        if let Some(generation) = self.generation.clone() {
            kept = kept.guard(move || generation.check());
        }
        match self.agree.clone() {
            Some(agree) => kept.stop_together(move |saved| agree(saved)),
            None => kept,
        }
    }
}

impl CheckpointArgs {
    /// Whether the run is to be saved.
    pub fn is_wanted(&self) -> bool {
        self.folder.is_some()
    }

    /// Those of one of several ranks, in a folder of its own. All ranks save after the same steps, so that they can go on
    /// from there together, also if one of them was ended while it saved.
    pub fn of_rank(&self, rank: usize, world: usize) -> Outcome<CheckpointArgs> {
        let goes_on = self.resume;
        let Some(folder) = &self.folder else { return Ok(self.clone()) };
        if matches!(self.every, Every::Time(_)) {
            let what = "several ranks save after a number of trips, not after a time";
            return Err(usage(what, "say how often by `--every 100`"));
        }
        if self.keep < 2 {
            return Err(usage("several ranks keep two checkpoints at least", "--keep 2"));
        }
        let shown = folder.display();
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let other = name.strip_prefix("rank-").and_then(|name| name.split_once("-of-"));
            if let Some((_, n)) = other.filter(|(_, n)| !goes_on && *n != world.to_string()) {
                let what = format!("`{shown}` has checkpoints of {n} ranks");
                return Err(usage(what, "go on with them by --resume, or start in another folder"));
            }
            if name.starts_with("step-") {
                let what = format!("`{shown}` has checkpoints of a run of one process");
                return Err(usage(what, "start in another folder"));
            }
        }
        let folder = Some(folder_of(folder, rank, world));
        Ok(CheckpointArgs { folder, of_rank: Some(OfRank::default()), ..self.clone() })
    }

    /// Where and how often, if at all. `given` are the states that the command line sets.
    pub fn checkpoints(
        &self,
        given: Vec<String>,
        out: &Out,
        journal: Option<&Journal>,
    ) -> Option<Checkpoints> {
        let kept = Checkpoints::new(self.folder.as_ref()?).keep(self.keep as usize).given(given);
        let kept = match &self.of_rank {
            Some(of_rank) => of_rank.applied(kept),
            None => kept,
        };
        let (out, journal) = (out.clone(), journal.cloned());
        let kept = kept.tell(move |notice: &Notice<'_>| {
            if let Some(journal) = &journal {
                journal.event("checkpoint", &notice.to_string());
            }
            let (word, event) = match notice.is_warning() {
                true => ("warning", "warning"),
                false => ("note", "checkpoint"),
            };
            let event = || json!({"event": event, "message": notice.to_string()});
            let text = format!("{word}: {notice}");
            match notice.is_warning() {
                true => out.error(&text, event()),
                false => out.note(&text, event),
            }
        });
        Some(match self.every {
            Every::Trips(trips) => kept.every_steps(trips),
            Every::Time(time) => kept.every(time),
        })
    }

    /// Finds out whether the run can be saved, before anything else is done.
    pub fn check(&self, out: &Out) -> Outcome<()> {
        match self.checkpoints(Vec::new(), out, None) {
            Some(checkpoints) => Ok(checkpoints.check(self.resume)?),
            None => Ok(()),
        }
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
        let (number, unit) = split(text);
        let wrong = || "write a number of trips (100) or a time (30s, 5m, 1h)".to_string();
        let number: u64 = number.parse().ok().filter(|&n| n > 0).ok_or_else(wrong)?;
        match unit {
            "" => Ok(Every::Trips(number)),
            unit => seconds(number, unit).map(Every::Time).ok_or_else(wrong),
        }
    }
}

/// Runs a program to its end or until it is stopped, and saves it on the way if that is wanted. `on_trip` is
/// called before each trip of a loop.
pub fn checkpointed(
    executor: &Executor,
    inputs: &[(&str, Tensor)],
    observer: Option<&dyn Observer>,
    (checkpoints, resume): (Option<&Checkpoints>, bool),
    limits: Limits,
    on_trip: &dyn Fn(&Trip<'_>),
) -> Outcome<Ended> {
    let never = |trip: &Trip<'_>| {
        on_trip(trip);
        false
    };
    let mut call = executor.call().feeds(inputs).until(&never).limits(limits);
    if let Some(observer) = observer {
        call = call.observe(observer);
    }
    if let Some(checkpoints) = checkpoints {
        let ended = call.checkpoints(checkpoints, resume).start();
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
