//! The channel, in all ways in which tasks may take turns, beside a model that was written for itself: the same small
//! programs end in the same ways, with the same messages, and in no other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use fluvial_core::tasks::{self, Case, Done, explore};
use fluvial_core::{Channel, DType, Loc, Result, Tensor, Type, Value};

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Send(usize),
    Recv(usize),
    Close(usize),
    /// Sends on the one channel or receives from the other.
    Either(usize, usize),
    /// Receives, if there is something at once.
    Try(usize),
}

/// Channels by capacity, and what each task does; the first task is the main one.
#[derive(Clone, Debug)]
struct Small {
    capacities: Vec<usize>,
    tasks: Vec<Vec<Step>>,
}

/// What a task has seen: messages that it received, -1 where a channel was closed, -2 where nothing was there, -3 where a
/// select has sent.
type Seen = Vec<Vec<i64>>;

/// How a run ends: with an error, or by what the tasks have seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Deadlock,
    SentOnClosed,
    ClosedTwice,
    Ended(Seen),
}

fn message(task: usize, step: usize) -> i64 {
    (100 * task + step) as i64
}

// The real one ------------------------------------------------------------------------------------------------------------

fn work(
    steps: &[Step],
    task: usize,
    channels: &[Channel],
    seen: &Mutex<Seen>,
) -> Result<Vec<Value>> {
    let note = |what: i64| seen.lock().unwrap()[task].push(what);
    let number = |value: Option<Value>| {
        value.map_or(-1, |value| value.tensor().and_then(Tensor::item).unwrap())
    };
    for (i, step) in steps.iter().enumerate() {
        let value = || Value::from(Tensor::scalar(message(task, i)));
        match *step {
            Step::Send(to) => tasks::send(&channels[to], value(), Loc::Unknown)?,
            Step::Recv(from) => note(number(tasks::recv(&channels[from], Loc::Unknown)?)),
            Step::Close(which) => tasks::close(&channels[which], Loc::Unknown)?,
            Step::Either(to, from) => {
                let cases = vec![
                    Case::Send(channels[to].clone(), value()),
                    Case::Recv(channels[from].clone()),
                ];
                let chosen = tasks::select(cases, false, Loc::Unknown)?;
                note(if chosen.case == Some(0) { -3 } else { number(chosen.message) });
            }
            Step::Try(from) => {
                let cases = vec![Case::Recv(channels[from].clone())];
                let chosen = tasks::select(cases, true, Loc::Unknown)?;
                note(if chosen.case.is_none() { -2 } else { number(chosen.message) });
            }
        }
    }
    Ok(Vec::new())
}

fn run(program: &Small) -> End {
    let seen: Arc<Mutex<Seen>> = Arc::new(Mutex::new(vec![Vec::new(); program.tasks.len()]));
    let ended = tasks::run(|| {
        let message = Type::scalar(DType::I64);
        let made = program.capacities.iter().map(|&n| tasks::channel(message, n, Loc::Unknown));
        let channels = made.collect::<Result<Vec<_>>>()?;
        for (task, steps) in program.tasks.iter().enumerate().skip(1) {
            let (steps, channels, seen) = (steps.clone(), channels.clone(), seen.clone());
            let done = Done { channels: Vec::new(), started: Loc::Unknown };
            tasks::spawn(done, move || work(&steps, task, &channels, &seen))?;
        }
        work(&program.tasks[0], 0, &channels, &seen)
    });
    match ended.as_ref().map_err(fluvial_core::Error::message) {
        Ok(_) => End::Ended(seen.lock().unwrap().clone()),
        Err(text) if text.contains("deadlock") => End::Deadlock,
        Err(text) if text.contains("sent on a closed") => End::SentOnClosed,
        Err(text) if text.contains("closed already") => End::ClosedTwice,
        Err(text) => panic!("{program:?} ended with: {text}"),
    }
}

// The model ---------------------------------------------------------------------------------------------------------------

/// A moment of a run. A task that waits stands in the queues of its channels, in the order in which they began to wait.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    at: Vec<usize>,
    waits: Vec<bool>,
    seen: Seen,
    /// By channel: what is in it, whether it is closed, and who waits to receive and to send.
    messages: Vec<VecDeque<i64>>,
    closed: Vec<bool>,
    receivers: Vec<VecDeque<usize>>,
    senders: Vec<VecDeque<usize>>,
}

impl Moment {
    fn first(program: &Small) -> Moment {
        let (tasks, channels) = (program.tasks.len(), program.capacities.len());
        Moment {
            at: vec![0; tasks],
            waits: vec![false; tasks],
            seen: vec![Vec::new(); tasks],
            messages: vec![VecDeque::new(); channels],
            closed: vec![false; channels],
            receivers: vec![VecDeque::new(); channels],
            senders: vec![VecDeque::new(); channels],
        }
    }

    fn step_of(&self, program: &Small, task: usize) -> Option<Step> {
        program.tasks[task].get(self.at[task]).copied()
    }

    /// A task goes on behind its step.
    fn passes(&mut self, task: usize, saw: Option<i64>) {
        self.seen[task].extend(saw);
        self.at[task] += 1;
        self.waits[task] = false;
        for queue in self.receivers.iter_mut().chain(&mut self.senders) {
            queue.retain(|&other| other != task);
        }
    }

    /// One who waits to receive gets a message, or hears that there is none.
    fn receives(&mut self, task: usize, what: i64) {
        self.passes(task, Some(what));
    }

    /// One who waits to send has sent; gives the message.
    fn sends(&mut self, program: &Small, task: usize) -> i64 {
        let what = message(task, self.at[task]);
        let is_select = matches!(self.step_of(program, task), Some(Step::Either(..)));
        self.passes(task, is_select.then_some(-3));
        what
    }

    /// After sending, if that can be done now.
    fn sent(&self, program: &Small, task: usize, to: usize) -> Option<Result<Moment, End>> {
        if self.closed[to] {
            return Some(Err(End::SentOnClosed));
        }
        let mut next = self.clone();
        let what = next.sends(program, task);
        if let Some(&receiver) = self.receivers[to].iter().find(|&&other| other != task) {
            next.receives(receiver, what);
        } else if self.messages[to].len() < program.capacities[to] {
            next.messages[to].push_back(what);
        } else {
            return None;
        }
        Some(Ok(next))
    }

    /// After receiving, if that can be done now.
    fn received(&self, program: &Small, task: usize, from: usize) -> Option<Moment> {
        let mut next = self.clone();
        let sender = self.senders[from].iter().copied().find(|&other| other != task);
        if let Some(what) = next.messages[from].pop_front() {
            next.receives(task, what);
            if let Some(sender) = sender {
                let what = next.sends(program, sender);
                next.messages[from].push_back(what);
            }
        } else if let Some(sender) = sender {
            let what = next.sends(program, sender);
            next.receives(task, what);
        } else if self.closed[from] {
            next.receives(task, -1);
        } else {
            return None;
        }
        Some(next)
    }

    /// What may come after a step of a task that does not wait.
    fn after(&self, program: &Small, task: usize) -> Vec<Result<Moment, End>> {
        let Some(step) = self.step_of(program, task) else { return Vec::new() };
        let mut found: Vec<Result<Moment, End>> = Vec::new();
        let mut waiting = self.clone();
        waiting.waits[task] = true;
        match step {
            Step::Send(to) => {
                found.extend(self.sent(program, task, to));
                waiting.senders[to].push_back(task);
            }
            Step::Recv(from) => {
                found.extend(self.received(program, task, from).map(Ok));
                waiting.receivers[from].push_back(task);
            }
            Step::Either(to, from) => {
                found.extend(self.sent(program, task, to));
                found.extend(self.received(program, task, from).map(Ok));
                waiting.senders[to].push_back(task);
                waiting.receivers[from].push_back(task);
            }
            Step::Try(from) => {
                found.extend(self.received(program, task, from).map(Ok));
                waiting = self.clone();
                waiting.passes(task, Some(-2));
            }
            Step::Close(which) if self.closed[which] => return vec![Err(End::ClosedTwice)],
            Step::Close(which) => {
                let mut next = self.clone();
                next.closed[which] = true;
                next.passes(task, None);
                for receiver in self.receivers[which].clone() {
                    next.receives(receiver, -1);
                }
                // Who waits to send is told when it goes on; the run ends by it.
                let refused = self.senders[which].iter().any(|&other| next.waits[other]);
                return vec![if refused { Err(End::SentOnClosed) } else { Ok(next) }];
            }
        }
        if found.is_empty() {
            found.push(Ok(waiting));
        }
        found
    }
}

/// All ends that a program may come to.
fn ends(program: &Small) -> BTreeSet<End> {
    let mut ends = BTreeSet::new();
    let mut open = vec![Moment::first(program)];
    let mut known: BTreeSet<Moment> = open.iter().cloned().collect();
    while let Some(moment) = open.pop() {
        let mut goes_on = false;
        for task in 0..program.tasks.len() {
            if moment.waits[task] {
                continue;
            }
            for next in moment.after(program, task) {
                goes_on = true;
                match next {
                    Ok(next) => {
                        if known.insert(next.clone()) {
                            open.push(next);
                        }
                    }
                    Err(end) => drop(ends.insert(end)),
                }
            }
        }
        if !goes_on {
            // Tasks that wait when the main one is over are ended.
            ends.insert(match moment.waits[0] {
                true => End::Deadlock,
                false => End::Ended(moment.seen),
            });
        }
    }
    ends
}

// Both --------------------------------------------------------------------------------------------------------------------

fn compare(program: &Small) -> usize {
    let expected = ends(program);
    let mut found: BTreeMap<End, usize> = BTreeMap::new();
    let mut left = 20_000;
    let ways = explore(|| {
        *found.entry(run(program)).or_default() += 1;
        left -= 1;
        left > 0
    });
    for end in found.keys() {
        assert!(
            expected.contains(end),
            "{program:?} may not come to {end:?}, only to {expected:?}"
        );
    }
    let ways = ways.unwrap_or_else(|| panic!("{program:?} has too many ways"));
    for end in &expected {
        assert!(found.contains_key(end), "{program:?} never came to {end:?} in {ways} ways");
    }
    ways
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// A program of two or three tasks with few steps.
fn small(seed: u64) -> Small {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let capacities: Vec<usize> = (0..1 + random.below(2)).map(|_| random.below(3)).collect();
    let n_tasks = 2 + random.below(2);
    let n_steps = if n_tasks == 2 { 3 } else { 2 };
    let tasks = (0..n_tasks).map(|_| {
        let n = 1 + random.below(n_steps);
        let steps = (0..n).map(|_| {
            let (a, b) = (random.below(capacities.len()), random.below(capacities.len()));
            match random.below(11) {
                0..=3 => Step::Send(a),
                4..=7 => Step::Recv(a),
                8 => Step::Close(a),
                9 => Step::Either(a, b),
                _ => Step::Try(a),
            }
        });
        steps.collect()
    });
    let tasks = tasks.collect();
    Small { capacities, tasks }
}

#[test]
fn all_ways_through_small_programs_end_as_the_model_says() {
    tasks::tell_left(|_| {});
    let hand_over = Small {
        capacities: vec![0],
        tasks: vec![
            vec![Step::Recv(0), Step::Recv(0), Step::Recv(0)],
            vec![Step::Send(0), Step::Send(0), Step::Close(0)],
        ],
    };
    assert!(compare(&hand_over) > 3);
    let both_select = Small {
        capacities: vec![0, 0],
        tasks: vec![vec![Step::Either(0, 1)], vec![Step::Either(1, 0)], vec![Step::Try(0)]],
    };
    assert!(compare(&both_select) > 6);
    let seeds = std::env::var("FLUVIAL_TASK_SEEDS").ok().and_then(|text| text.parse().ok());
    let ways: usize = (0..seeds.unwrap_or(60)).map(|seed| compare(&small(seed))).sum();
    assert!(ways > 60);
}
