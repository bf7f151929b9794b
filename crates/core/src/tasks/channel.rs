//! Sending, receiving, closing, and waiting for one of several.

use std::sync::Arc;

use fluvial_tensor::{Error, ErrorKind, Loc, Result, Tensor, Type};

use super::world::{Awaited, Channel, Granted, Inner, Queue, Verb, Waiter, World};
use crate::value::{List, Value};

/// Something that one may wait for.
pub enum Case {
    /// Sending a value.
    Send(Channel, Value),
    /// Receiving.
    Recv(Channel),
}

/// What was done.
pub struct Chosen {
    /// The number of the case; nothing for the default.
    pub case: Option<usize>,
    /// What was received; nothing if the channel is closed, or if something was sent.
    pub message: Option<Value>,
}

/// A channel for values of this type, of which it holds `capacity` that nobody has received yet; with none of them, a
/// sender waits until its value is received. Symbols in the type are sizes that may differ from message to message.
pub fn channel(message: Type, capacity: usize, made: Loc) -> Result<Channel> {
    World::current().open(message, capacity, made, None)
}

/// A channel on which the number `seconds` comes after that time.
pub fn timer(seconds: f64, made: Loc) -> Result<Channel> {
    if !(0.0..=1e9).contains(&seconds) {
        return Err(Error::argument(format!("{seconds} seconds are not a time to wait"))
            .remedy("give seconds from 0 to 1e9"));
    }
    let number = Tensor::scalar(seconds);
    let ty = number.ty();
    World::current().open(ty, 1, made, Some((seconds, number.into())))
}

/// Sends a value, and waits until there is room for it, or somebody receives it.
pub fn send(to: &Channel, value: Value, loc: Loc) -> Result<()> {
    select(vec![Case::Send(to.clone(), value)], false, loc).map(drop)
}

/// Receives a value, and waits until there is one; nothing once the channel is closed and empty.
pub fn recv(from: &Channel, loc: Loc) -> Result<Option<Value>> {
    select(vec![Case::Recv(from.clone())], false, loc).map(|chosen| chosen.message)
}

/// The value that a task leaves in the channel of its result, which stays there.
pub fn wait(from: &Channel, loc: Loc) -> Result<Value> {
    let chosen = choose(vec![Case::Recv(from.clone())], false, true, loc)?;
    chosen.message.ok_or_else(|| {
        Error::new(ErrorKind::State, "what tasks share is asked for, and nobody shares it any more")
            .remedy("wait for the tasks inside of the block of `fl.shared`")
            .at(loc)
    })
}

/// Closes a channel: what is in it can be received, nothing more can be sent.
pub fn close(channel: &Channel, loc: Loc) -> Result<()> {
    let world = channel.world();
    let me = world.me();
    world.yield_turn(me)?;
    let mut inner = world.lock();
    inner.error(me)?;
    let Some(queue) = inner.queues.get_mut(&channel.number()) else { return Err(lost()) };
    if queue.is_closed {
        return Err(Error::new(ErrorKind::State, "the channel is closed already")
            .note(format!("it was made at {}", channel.made()))
            .remedy("close a channel once, where it is known that nothing more is sent")
            .at(loc));
    }
    queue.is_closed = true;
    let receivers = std::mem::take(&mut queue.receivers);
    let senders = std::mem::take(&mut queue.senders);
    for waiter in receivers {
        if inner.is_waiting(waiter.task) {
            inner.grant(waiter.task, Granted::Case(waiter.case, None));
        }
    }
    for waiter in senders {
        if inner.is_waiting(waiter.task) {
            inner.grant(waiter.task, Granted::Refused(waiter.case));
        }
    }
    Ok(())
}

/// Waits until one of the cases can be done, and does it: of several, any. With `default`, nothing is waited for.
pub fn select(cases: Vec<Case>, default: bool, loc: Loc) -> Result<Chosen> {
    choose(cases, default, false, loc)
}

fn choose(mut cases: Vec<Case>, default: bool, peeks: bool, loc: Loc) -> Result<Chosen> {
    let world = world_of(&cases)?;
    for case in &cases {
        if let Case::Send(channel, value) = case {
            check_message(channel, value).map_err(|error| error.at(loc))?;
        }
    }
    let me = world.me();
    world.yield_turn(me)?;
    loop {
        let mut inner = world.lock();
        inner.error(me)?;
        let mut ready: [usize; 8] = [0; 8];
        let mut n_ready = 0;
        for (i, case) in cases.iter().enumerate() {
            if is_ready(&mut inner, case)? && n_ready < ready.len() {
                ready[n_ready] = i;
                n_ready += 1;
            }
        }
        if n_ready > 0 {
            let which = if n_ready == 1 { 0 } else { inner.chooser.below(n_ready) };
            let case = ready[which];
            let message = perform(&mut inner, &mut cases[case], peeks, loc)?;
            return Ok(Chosen { case: Some(case), message });
        }
        if default {
            return Ok(Chosen { case: None, message: None });
        }
        let mut awaited = Vec::with_capacity(cases.len());
        let mut due = None;
        for (i, case) in cases.iter().enumerate() {
            let (channel, message, verb) = match case {
                Case::Send(channel, value) => (channel, Some(value.clone()), Verb::Send),
                Case::Recv(channel) if peeks => (channel, None, Verb::Wait),
                Case::Recv(channel) => (channel, None, Verb::Receive),
            };
            awaited.push(Awaited { verb, made: channel.made() });
            let Some(queue) = inner.queues.get_mut(&channel.number()) else { return Err(lost()) };
            if let Some((moment, _)) = &queue.timer {
                due = super::world::earlier(due, *moment);
            }
            let waiters = match message {
                Some(_) => &mut queue.senders,
                None => &mut queue.receivers,
            };
            waiters.push_back(Waiter { task: me, case: i, message, peeks });
        }
        let granted = world.block(inner, me, loc, awaited, due);
        if cases.len() > 1 || matches!(granted, Ok(Granted::Time)) {
            withdraw(&world, &cases, me);
        }
        match granted? {
            Granted::Case(case, message) => return Ok(Chosen { case: Some(case), message }),
            Granted::Refused(case) => match cases.get(case) {
                Some(Case::Send(channel, _)) => return Err(closed(channel, loc)),
                _ => return Err(lost()),
            },
            Granted::Time => {}
        }
    }
}

fn world_of(cases: &[Case]) -> Result<Arc<World>> {
    let mut found: Option<&Arc<World>> = None;
    for case in cases {
        let (Case::Send(channel, _) | Case::Recv(channel)) = case;
        if found.is_some_and(|known| !Arc::ptr_eq(known, channel.world())) {
            return Err(Error::argument("channels of different runs cannot be waited for at once")
                .remedy("make both in the same program, or both outside of programs"));
        }
        found = Some(channel.world());
    }
    Ok(found.cloned().unwrap_or_else(World::current))
}

/// Takes a task out of the queues of its cases.
fn withdraw(world: &World, cases: &[Case], me: u64) {
    let mut inner = world.lock();
    for case in cases {
        let (Case::Send(channel, _) | Case::Recv(channel)) = case;
        if let Some(queue) = inner.queues.get_mut(&channel.number()) {
            queue.receivers.retain(|waiter| waiter.task != me);
            queue.senders.retain(|waiter| waiter.task != me);
        }
    }
}

/// Whether a case can be done now.
fn is_ready(inner: &mut Inner, case: &Case) -> Result<bool> {
    let (Case::Send(channel, _) | Case::Recv(channel)) = case;
    let number = channel.number();
    if let Some((due, _)) = inner.queues.get(&number).and_then(|queue| queue.timer.as_ref())
        && inner.is_over(*due)
        && let Some(queue) = inner.queues.get_mut(&number)
        && let Some((_, message)) = queue.timer.take()
    {
        queue.messages.push_back(message);
    }
    let Some(queue) = inner.queues.get(&number) else { return Err(lost()) };
    let waits = |waiters: &std::collections::VecDeque<Waiter>| {
        waiters.iter().any(|waiter| inner.is_waiting(waiter.task))
    };
    Ok(match case {
        Case::Send(..) => {
            queue.is_closed || queue.messages.len() < queue.capacity || waits(&queue.receivers)
        }
        Case::Recv(_) => !queue.messages.is_empty() || queue.is_closed || waits(&queue.senders),
    })
}

/// The first waiter that still waits.
fn next_waiter(inner: &mut Inner, number: u64, sends: bool) -> Option<Waiter> {
    loop {
        let queue = inner.queues.get_mut(&number)?;
        let waiters = if sends { &mut queue.senders } else { &mut queue.receivers };
        let waiter = waiters.pop_front()?;
        if inner.is_waiting(waiter.task) {
            return Some(waiter);
        }
    }
}

/// Does what is ready.
fn perform(inner: &mut Inner, case: &mut Case, peeks: bool, loc: Loc) -> Result<Option<Value>> {
    match case {
        Case::Send(channel, value) => {
            let number = channel.number();
            if inner.queues.get(&number).is_none_or(|queue| queue.is_closed) {
                return Err(closed(channel, loc));
            }
            // Those who only look leave the message to others.
            while let Some(waiter) = next_waiter(inner, number, false) {
                inner.grant(waiter.task, Granted::Case(waiter.case, Some(value.clone())));
                if !waiter.peeks {
                    return Ok(None);
                }
            }
            let Some(queue) = inner.queues.get_mut(&number) else { return Err(lost()) };
            queue.messages.push_back(value.clone());
            Ok(None)
        }
        Case::Recv(channel) => {
            let number = channel.number();
            let Some(queue) = inner.queues.get_mut(&number) else { return Err(lost()) };
            if peeks {
                return Ok(queue.messages.front().cloned());
            }
            let message = queue.messages.pop_front();
            let is_full = |queue: &Queue| queue.messages.len() >= queue.capacity;
            if message.is_some() && is_full(queue) {
                return Ok(message);
            }
            let Some(sender) = next_waiter(inner, number, true) else { return Ok(message) };
            let next = sender.message;
            inner.grant(sender.task, Granted::Case(sender.case, None));
            let Some(queue) = inner.queues.get_mut(&number) else { return Err(lost()) };
            match message {
                None => Ok(next),
                Some(message) => {
                    queue.messages.extend(next);
                    Ok(Some(message))
                }
            }
        }
    }
}

/// An error if a channel does not take this value.
fn check_message(channel: &Channel, value: &Value) -> Result<()> {
    let (Some(declared), found) = (channel.ty().message(), value.ty()) else { return Err(lost()) };
    match fits(&declared, &found) {
        true => Ok(()),
        false => Err(Error::shape(format!("{found} was sent on a {}", channel.ty()))
            .note(format!("the channel was made at {}", channel.made()))
            .remedy("send what the channel was made for, or make it for other values")),
    }
}

/// Whether a message of type `found` may be sent where `declared` is expected; sizes that are not known yet may fit.
pub fn fits(declared: &Type, found: &Type) -> bool {
    let sizes = declared.dims().iter().zip(found.dims());
    declared.dtype() == found.dtype()
        && declared.rank() == found.rank()
        && declared.lists() == found.lists()
        && !found.is_channel()
        && (found.lists() > 0
            || sizes.into_iter().all(|(a, b)| a.is_symbolic() || b.is_symbolic() || a == b))
}

/// What is received from a closed channel: zeros, none along sizes that are open.
pub fn zero(message: &Type) -> Result<Value> {
    if let Some(element) = message.element() {
        return List::new(element).map(Value::List);
    }
    let sizes: Vec<usize> = message.dims().iter().map(|dim| dim.value().unwrap_or(0)).collect();
    let count: usize = sizes.iter().product();
    Tensor::from_f64s(message.dtype(), &vec![0.0; count], &sizes).map(Value::Tensor)
}

fn closed(channel: &Channel, loc: Loc) -> Error {
    Error::new(ErrorKind::State, "a value was sent on a closed channel")
        .note(format!("the channel was made at {}", channel.made()))
        .remedy("close a channel where it is known that nothing more is sent")
        .at(loc)
}

fn lost() -> Error {
    Error::internal("a channel was lost")
}
