//! What the host gives to readers by name: datasets, streams, functions. A reader that was read from a file
//! can use nothing else.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use fluvial_tensor::{Error, Result, Tensor};

use super::arrays::Arrays;
use crate::source::{Dataset, Field, Sample, Stream};

/// A function from samples to samples, and the fields of its results.
pub struct Function {
    /// Called with one sample at a time, at most by one thread per cursor.
    pub call: Box<dyn Fn(Sample) -> Result<Sample> + Send + Sync>,
    /// What the results consist of; as the samples if none.
    pub fields: Option<Vec<Field>>,
}

/// Says which samples are kept.
pub type Predicate = dyn Fn(&[Tensor]) -> Result<bool> + Send + Sync;

/// A name of something that the host gives, and the thing itself where the reader was made with it. Two are
/// equal if the names are.
pub struct Named<T: ?Sized> {
    name: Arc<str>,
    held: Option<Arc<T>>,
}

impl<T: ?Sized> Named<T> {
    /// A name, to be looked up when the reader is opened.
    pub fn new(name: &str) -> Named<T> {
        Named { name: name.into(), held: None }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<T: ?Sized> Clone for Named<T> {
    fn clone(&self) -> Named<T> {
        Named { name: self.name.clone(), held: self.held.clone() }
    }
}

impl<T: ?Sized> PartialEq for Named<T> {
    fn eq(&self, other: &Named<T>) -> bool {
        self.name == other.name
    }
}

impl<T: ?Sized> fmt::Debug for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)
    }
}

/// Things by name. Those that readers hold are forgotten with the last reader.
struct Table<T: ?Sized> {
    kind: &'static str,
    entries: RwLock<BTreeMap<Arc<str>, Entry<T>>>,
}

enum Entry<T: ?Sized> {
    Registered(Arc<T>),
    Held(Weak<T>),
}

impl<T: ?Sized> Entry<T> {
    fn get(&self) -> Option<Arc<T>> {
        match self {
            Entry::Registered(thing) => Some(thing.clone()),
            Entry::Held(thing) => thing.upgrade(),
        }
    }
}

impl<T: ?Sized> Table<T> {
    const fn new(kind: &'static str) -> Table<T> {
        Table { kind, entries: RwLock::new(BTreeMap::new()) }
    }

    fn register(&self, name: &str, thing: Arc<T>) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.insert(name.into(), Entry::Registered(thing));
    }

    fn unregister(&self, name: &str) -> bool {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.remove(name).is_some()
    }

    /// Enters a thing for as long as someone holds it, or gives what is there under the name.
    fn hold(&self, name: &str, thing: Arc<T>) -> Named<T> {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries
            .retain(|_, entry| !matches!(entry, Entry::Held(thing) if thing.strong_count() == 0));
        let held = entries.get(name).and_then(Entry::get).unwrap_or_else(|| {
            entries.insert(name.into(), Entry::Held(Arc::downgrade(&thing)));
            thing
        });
        Named { name: name.into(), held: Some(held) }
    }

    /// Enters a thing for as long as someone holds it, unless the name is that of another one.
    fn hold_only(&self, name: &str, thing: Arc<T>) -> Result<Named<T>> {
        let named = self.hold(name, thing.clone());
        match named.held.as_ref().is_some_and(|held| Arc::ptr_eq(held, &thing)) {
            true => Ok(named),
            false => Err(Error::state(format!("another {} has the name `{name}`", self.kind))
                .remedy("give it a name of its own")),
        }
    }

    fn find(&self, named: &Named<T>) -> Result<Arc<T>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let found = || entries.get(&named.name).and_then(Entry::get);
        named.held.clone().or_else(found).ok_or_else(|| {
            let (kind, name) = (self.kind, &named.name);
            Error::state(format!("the host did not register the {kind} `{name}`")).remedy(format!(
                "a program cannot bring a {kind} along: register it under this name before the reader is opened"
            ))
        })
    }
}

static DATASETS: Table<dyn Dataset> = Table::new("dataset");
static STREAMS: Table<dyn Stream> = Table::new("stream");
static FUNCTIONS: Table<Function> = Table::new("function");
static PREDICATES: Table<Predicate> = Table::new("predicate");

/// Gives readers of this process a dataset under a name, in place of an earlier one.
pub fn register_dataset(name: &str, dataset: Arc<dyn Dataset>) {
    DATASETS.register(name, dataset);
}

/// Forgets a dataset; says whether there was one. Readers that are open keep it.
pub fn unregister_dataset(name: &str) -> bool {
    DATASETS.unregister(name)
}

/// Gives readers of this process a stream under a name, in place of an earlier one.
pub fn register_stream(name: &str, stream: Arc<dyn Stream>) {
    STREAMS.register(name, stream);
}

/// Forgets a stream; says whether there was one. Readers that are open keep it.
pub fn unregister_stream(name: &str) -> bool {
    STREAMS.unregister(name)
}

/// Gives readers of this process a function for `map` under a name, in place of an earlier one.
///
/// It must give the same result whenever it is given the same sample, else a resumed reader gives others.
pub fn register_function(name: &str, function: Arc<Function>) {
    FUNCTIONS.register(name, function);
}

/// Forgets a function; says whether there was one. Readers that are open keep it.
pub fn unregister_function(name: &str) -> bool {
    FUNCTIONS.unregister(name)
}

/// Gives readers of this process a predicate for `filter` under a name, in place of an earlier one.
///
/// It must give the same answer whenever it is given the same sample, else a resumed reader gives others.
pub fn register_predicate(name: &str, predicate: Arc<Predicate>) {
    PREDICATES.register(name, predicate);
}

/// Forgets a predicate; says whether there was one. Readers that are open keep it.
pub fn unregister_predicate(name: &str) -> bool {
    PREDICATES.unregister(name)
}

/// Arrays under a name that tells their contents: those that are there already will do.
pub(super) fn hold_or_share(name: &str, arrays: Arc<Arrays>) -> Named<dyn Dataset> {
    DATASETS.hold(name, arrays)
}

pub(super) fn hold_dataset(name: &str, dataset: Arc<dyn Dataset>) -> Result<Named<dyn Dataset>> {
    DATASETS.hold_only(name, dataset)
}

pub(super) fn hold_stream(name: &str, stream: Arc<dyn Stream>) -> Result<Named<dyn Stream>> {
    STREAMS.hold_only(name, stream)
}

pub(super) fn hold_function(name: &str, function: Arc<Function>) -> Result<Named<Function>> {
    FUNCTIONS.hold_only(name, function)
}

pub(super) fn hold_predicate(name: &str, predicate: Arc<Predicate>) -> Result<Named<Predicate>> {
    PREDICATES.hold_only(name, predicate)
}

pub(super) fn find_dataset(named: &Named<dyn Dataset>) -> Result<Arc<dyn Dataset>> {
    DATASETS.find(named)
}

pub(super) fn find_stream(named: &Named<dyn Stream>) -> Result<Arc<dyn Stream>> {
    STREAMS.find(named)
}

pub(super) fn find_function(named: &Named<Function>) -> Result<Arc<Function>> {
    FUNCTIONS.find(named)
}

pub(super) fn find_predicate(named: &Named<Predicate>) -> Result<Arc<Predicate>> {
    PREDICATES.find(named)
}
