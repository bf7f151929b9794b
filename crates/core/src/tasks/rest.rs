//! A world whose only task is the one that asks: what has to be kept so that it can go on later, in another world.

use std::collections::VecDeque;
use std::sync::Arc;

use fluvial_tensor::{Error, Loc, Result, Type};

use super::schedule::Chooser;
use super::world::{Channel, Due, Queue, World};
use crate::value::Value;

/// What is in a channel for which nobody waits.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The type of its messages.
    pub message: Type,
    /// How many it holds that nobody has received yet.
    pub capacity: usize,
    /// Whether it is closed.
    pub is_closed: bool,
    /// What nobody has received yet.
    pub messages: Vec<Value>,
    /// For a timer, in how many seconds its message comes, and which.
    pub timer: Option<(f64, Value)>,
}

/// Where a schedule stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// What chooses goes on from here.
    pub random: u64,
    /// The seconds that have passed.
    pub passed: f64,
}

impl Channel {
    /// What is in the channel, with what has to come of a timer.
    pub fn contents(&self) -> Result<Contents> {
        let inner = self.world().lock();
        let Some(queue) = inner.queues.get(&self.number()) else {
            return Err(Error::internal("a channel was lost"));
        };
        let left = |due: &Due| match *due {
            Due::Clock(due) => {
                due.saturating_duration_since(std::time::Instant::now()).as_secs_f64()
            }
            Due::Passed(due) => due - inner.passed,
        };
        Ok(Contents {
            message: self.ty().message().unwrap_or(self.ty()),
            capacity: self.capacity(),
            is_closed: queue.is_closed,
            messages: queue.messages.iter().cloned().collect(),
            timer: queue.timer.as_ref().map(|(due, value)| (left(due), value.clone())),
        })
    }
}

impl Contents {
    /// A channel of the run that this thread is in, or of one that has not begun, with these contents.
    pub fn channel(self, made: Loc) -> Result<Channel> {
        let world = World::of_run().unwrap_or_else(|| World::new(true));
        self.channel_in(&world, made)
    }

    fn channel_in(self, world: &Arc<World>, made: Loc) -> Result<Channel> {
        let channel = world.open(self.message, self.capacity, made, self.timer)?;
        let mut inner = world.lock();
        if let Some(queue) = inner.queues.get_mut(&channel.number()) {
            let Queue { messages, is_closed, .. } = queue;
            (*messages, *is_closed) = (VecDeque::from(self.messages), self.is_closed);
        }
        drop(inner);
        Ok(channel)
    }
}

/// Whether this thread is in the run of a program none of whose tasks is under way but the one that it runs itself.
pub fn is_alone() -> bool {
    World::of_run().is_some_and(|world| world.lock().tasks.len() == 1)
}

/// Where the schedule of the run stands that this thread is in, if a seed makes it.
pub fn standing() -> Option<Standing> {
    let world = World::of_run()?;
    let inner = world.lock();
    match (&inner.chooser, &inner.ready) {
        (Chooser::Random(random), Some(_)) => {
            Some(Standing { random: *random, passed: inner.passed })
        }
        _ => None,
    }
}

/// Has the schedule of this run go on from there, if it has one.
pub fn go_on_from(standing: Standing) {
    let Some(world) = World::of_run() else { return };
    let mut inner = world.lock();
    if inner.ready.is_some() {
        (inner.chooser, inner.passed) = (Chooser::Random(standing.random), standing.passed);
    }
}
