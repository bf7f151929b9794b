//! Who waits for what, and who goes on: what the lock of a world guards.

use std::time::{Duration, Instant};

use fluvial_tensor::{Error, ErrorKind, Loc, Result};

use super::world::{Awaited, Due, Granted, Inner, Task};
use crate::limits;

impl Inner {
    /// The error that has ended the world, if one has; the task is told of it.
    pub(super) fn error(&mut self, task: u64) -> Result<()> {
        let failed = self.failed.clone();
        if failed.is_some() {
            self.told(task);
        }
        failed.map_or(Ok(()), Err)
    }

    /// Notes that a task has been told of the error.
    pub(super) fn told(&mut self, task: u64) {
        self.is_told |= self.tasks.get(&task).is_some_and(|task| task.started.is_none());
        self.forget_told();
    }

    /// Lines go on after an error, once it was told and the tasks that it has ended are gone.
    pub(super) fn forget_told(&mut self) {
        if !self.is_closed && self.is_told && self.tasks.values().all(|task| task.started.is_none())
        {
            (self.failed, self.is_told) = (None, false);
        }
    }

    pub(super) fn due(&self, seconds: f64) -> Due {
        match &self.ready {
            Some(_) => Due::Passed(self.passed + seconds),
            None => Due::Clock(Instant::now() + Duration::from_secs_f64(seconds)),
        }
    }

    /// Whether the moment is over.
    pub(super) fn is_over(&self, due: Due) -> bool {
        match due {
            Due::Clock(due) => Instant::now() >= due,
            Due::Passed(due) => self.passed >= due,
        }
    }

    /// Gives a waiting task what it waits for.
    pub(super) fn grant(&mut self, task: u64, granted: Granted) {
        let Some(own) = self.tasks.get_mut(&task) else { return };
        own.granted = Some(granted);
        match &mut self.ready {
            Some(ready) if self.n_running > 0 => ready.push(task),
            _ => {
                own.has_turn = true;
                self.n_running += 1;
                own.wake.notify_one();
            }
        }
    }

    /// Whether a task still waits, so that it can be given something.
    pub(super) fn is_waiting(&self, task: u64) -> bool {
        self.tasks.get(&task).is_some_and(|own| own.waits.is_some() && own.granted.is_none())
    }

    /// A task that waited goes on with an error.
    pub(super) fn unblock(&mut self, task: u64) {
        let Some(own) = self.tasks.get_mut(&task) else { return };
        if !own.has_turn {
            self.n_running += 1;
        }
        (own.waits, own.due, own.granted, own.has_turn) = (None, None, None, true);
        self.queues.values_mut().for_each(|queue| {
            queue.receivers.retain(|waiter| waiter.task != task);
            queue.senders.retain(|waiter| waiter.task != task);
        });
    }

    /// If only one task runs at a time, and none does: lets one go on that can. If none can, time passes.
    pub(super) fn pass_turn(&mut self) {
        if self.n_running > 0 || self.failed.is_some() {
            return;
        }
        let Some(ready) = &self.ready else { return };
        if ready.is_empty() {
            let due = |task: &Task| match task.due {
                Some(Due::Passed(due)) => Some(due),
                _ => None,
            };
            let next = self.tasks.iter().filter_map(|(number, task)| Some((due(task)?, *number)));
            let next = next.min_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((due, task)) = next {
                self.passed = self.passed.max(due);
                self.grant(task, Granted::Time);
            }
            return;
        }
        let chosen = self.chooser.below(self.ready.as_ref().map_or(0, Vec::len));
        let Some(ready) = &mut self.ready else { return };
        let task = ready.remove(chosen);
        if let Some(own) = self.tasks.get_mut(&task) {
            own.has_turn = true;
            self.n_running += 1;
            own.wake.notify_one();
        }
    }

    pub(super) fn fail(&mut self, error: Error) {
        if self.failed.is_none() {
            self.failed = Some(error);
            if self.is_closed {
                limits::alert(true);
            }
        }
        self.tasks.values().for_each(|task| task.wake.notify_all());
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.n_running == 0
            && self.ready.as_ref().is_none_or(Vec::is_empty)
            && !self.tasks.is_empty()
            && self.tasks.values().all(|task| task.waits.is_some() && task.granted.is_none())
            && !self.tasks.values().any(|task| matches!(task.due, Some(Due::Clock(_))))
    }

    pub(super) fn deadlock(&self) -> Error {
        let first = self.tasks.values().find(|task| task.started.is_none());
        let first = first.or(self.tasks.values().next());
        let loc = first.and_then(|task| task.waits.as_ref()).map_or(Loc::Unknown, |waits| waits.0);
        let mut error =
            Error::new(ErrorKind::Argument, "deadlock: every task waits for another one");
        for line in self.waiting() {
            error = error.note(line);
        }
        error.remedy("let somebody send, receive or close the channels that are waited for").at(loc)
    }

    pub(super) fn waiting(&self) -> Vec<String> {
        let line = |task: &Task| {
            let (loc, awaited) = task.waits.as_ref()?;
            let who = match task.started {
                None => "the main task".to_string(),
                Some(started) => format!("the task started at {started}"),
            };
            let whats: Vec<String> = awaited.iter().map(Awaited::to_string).collect();
            let what = match whats.is_empty() {
                true => "waits for nothing, forever".to_string(),
                false => whats.join(", or "),
            };
            Some(format!("{who} {what}, at {loc}"))
        };
        self.tasks.values().filter_map(line).collect()
    }
}
