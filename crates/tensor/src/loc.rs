//! Places in the user's source.

use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// A place in the user's source: a Rust call site, or one interned by a front end.
///
/// A place also tells in which [`Phase`] of a program an op stands there, and in which layer. Two
/// places are equal if file, line, column, function, parent, phase and layer are.
#[derive(Clone, Copy)]
pub enum Loc {
    /// Nothing is known.
    Unknown,
    /// A call site captured with [`Loc::caller`].
    Rust(&'static Location<'static>),
    /// An entry of the table of [`Loc::intern`].
    Interned(u32),
}

/// What an op of a program is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Phase {
    /// It computes what the user wrote.
    #[default]
    Forward,
    /// It computes a gradient.
    Backward,
    /// It updates parameters.
    Optimizer,
}

impl Phase {
    /// All of them.
    pub const ALL: [Phase; 3] = [Phase::Forward, Phase::Backward, Phase::Optimizer];

    /// The name, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Optimizer => "optimizer",
        }
    }
}

/// What a place tells of an op besides the line: its phase and its layer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Marks {
    /// What the op is for.
    pub phase: Phase,
    layer: Option<u32>,
}

impl Marks {
    /// The same with the layer of this dotted name; an empty name changes nothing.
    #[must_use]
    pub fn with_layer(self, name: &str) -> Marks {
        match name.is_empty() {
            true => self,
            false => Marks { layer: Table::id_of(name), ..self },
        }
    }

    /// The same with this phase.
    #[must_use]
    pub fn with_phase(self, phase: Phase) -> Marks {
        Marks { phase, ..self }
    }

    /// These, and those of `outer` where nothing is said here.
    #[must_use]
    pub fn within(self, outer: Marks) -> Marks {
        let phase = if self.phase == Phase::Forward { outer.phase } else { self.phase };
        Marks { phase, layer: self.layer.or(outer.layer) }
    }

    /// The dotted name of the layer.
    pub fn layer(self) -> Option<Arc<str>> {
        Table::read(|table| table.text(self.layer?))
    }
}

/// Above this many different places, [`Loc::intern`] answers [`Loc::Unknown`].
const MAX_ENTRIES: usize = 1 << 22;

/// One interned place; names are indices into [`Table::names`], so that a lookup compares numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Entry {
    file: u32,
    line: u32,
    column: u32,
    function: Option<u32>,
    parent: Option<u32>,
    marks: Marks,
}

#[derive(Default)]
struct Table {
    names: Vec<Arc<str>>,
    name_ids: HashMap<Arc<str>, u32>,
    entries: Vec<Entry>,
    entry_ids: HashMap<Entry, u32>,
}

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(RwLock::default);

impl Table {
    fn read<R>(f: impl FnOnce(&Table) -> R) -> R {
        f(&TABLE.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The index of a name, which is added if the table has room.
    fn id_of(name: &str) -> Option<u32> {
        let known = Table::read(|table| table.name_ids.get(name).copied());
        known.or_else(|| Table::write(|table| table.has_room().then(|| table.name(name))))
    }

    fn has_room(&self) -> bool {
        self.entries.len().max(self.names.len()) < MAX_ENTRIES
    }

    fn write<R>(f: impl FnOnce(&mut Table) -> R) -> R {
        f(&mut TABLE.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// The index of an entry, which is added if the table has room.
    fn add(&mut self, entry: Entry) -> Option<u32> {
        if let Some(&id) = self.entry_ids.get(&entry) {
            return Some(id);
        }
        let id = self.has_room().then_some(self.entries.len() as u32)?;
        self.entries.push(entry);
        self.entry_ids.insert(entry, id);
        Some(id)
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.name_ids.get(name) {
            return id;
        }
        let (id, name) = (self.names.len() as u32, Arc::<str>::from(name));
        self.names.push(name.clone());
        self.name_ids.insert(name, id);
        id
    }

    fn entry(&self, id: u32) -> Option<&Entry> {
        self.entries.get(id as usize)
    }

    fn text(&self, name: u32) -> Option<Arc<str>> {
        self.names.get(name as usize).cloned()
    }
}

impl Loc {
    /// The call site of the nearest function that is not `#[track_caller]`.
    #[track_caller]
    #[inline]
    pub fn caller() -> Loc {
        Loc::Rust(Location::caller())
    }

    /// A place given by its parts; `column` 0 means not known, `parent` is where `function` was
    /// called from. Equal parts give the same entry. The table is bounded: when it is full the
    /// answer is [`Loc::Unknown`].
    pub fn intern(
        file: &str,
        line: u32,
        column: u32,
        function: Option<&str>,
        parent: Option<Loc>,
    ) -> Loc {
        let parent = parent.and_then(Loc::into_id);
        let known = Table::read(|table| {
            let file = *table.name_ids.get(file)?;
            let function = match function {
                Some(name) => Some(*table.name_ids.get(name)?),
                None => None,
            };
            let entry = Entry { file, line, column, function, parent, marks: Marks::default() };
            table.entry_ids.get(&entry).copied()
        });
        let added = known.or_else(|| {
            Table::write(|table| {
                if !table.has_room() {
                    return None;
                }
                let file = table.name(file);
                let function = function.map(|name| table.name(name));
                let marks = Marks::default();
                table.add(Entry { file, line, column, function, parent, marks })
            })
        });
        added.map_or(Loc::Unknown, Loc::Interned)
    }

    /// The same place with these marks instead of its own. An unknown place has none; one that no
    /// longer fits in the table stays as it is.
    #[must_use]
    pub fn with_marks(self, marks: Marks) -> Loc {
        if self.marks() == marks {
            return self;
        }
        let Some(id) = self.into_id() else { return self };
        let variant = |table: &Table| Some(Entry { marks, ..*table.entry(id)? });
        let known = Table::read(|table| table.entry_ids.get(&variant(table)?).copied());
        let added = known.or_else(|| Table::write(|table| table.add(variant(table)?)));
        added.map_or(self, Loc::Interned)
    }

    /// The same place in this phase of a program.
    #[must_use]
    pub fn with_phase(self, phase: Phase) -> Loc {
        self.with_marks(self.marks().with_phase(phase))
    }

    /// The same place in the layer of this dotted name.
    #[must_use]
    pub fn with_layer(self, name: &str) -> Loc {
        self.with_marks(self.marks().with_layer(name))
    }

    /// The table entry with this content, made if need be.
    fn into_id(self) -> Option<u32> {
        match self {
            Loc::Unknown => None,
            Loc::Interned(id) => Some(id),
            Loc::Rust(at) => {
                let file = without_detours(at.file());
                match Loc::intern(&file, at.line(), at.column(), None, None) {
                    Loc::Interned(id) => Some(id),
                    _ => None,
                }
            }
        }
    }

    fn entry(self) -> Option<Entry> {
        match self {
            Loc::Interned(id) => Table::read(|table| table.entry(id).copied()),
            _ => None,
        }
    }

    /// The file, or an empty text if unknown.
    pub fn file(self) -> Arc<str> {
        match self {
            Loc::Rust(at) => without_detours(at.file()).into(),
            _ => self
                .entry()
                .and_then(|entry| Table::read(|table| table.text(entry.file)))
                .unwrap_or_else(|| "".into()),
        }
    }

    /// The line, counted from 1, or 0 if unknown.
    pub fn line(self) -> u32 {
        match self {
            Loc::Rust(at) => at.line(),
            _ => self.entry().map_or(0, |entry| entry.line),
        }
    }

    /// The column, counted from 1, or 0 if unknown.
    pub fn column(self) -> u32 {
        match self {
            Loc::Rust(at) => at.column(),
            _ => self.entry().map_or(0, |entry| entry.column),
        }
    }

    /// The function the place lies in, where the front end knows it.
    pub fn function(self) -> Option<Arc<str>> {
        let function = self.entry()?.function?;
        Table::read(|table| table.text(function))
    }

    /// The place that function was called from, where the front end knows it.
    pub fn parent(self) -> Option<Loc> {
        self.entry()?.parent.map(Loc::Interned)
    }

    /// The phase and the layer.
    pub fn marks(self) -> Marks {
        self.entry().map_or(Marks::default(), |entry| entry.marks)
    }

    /// What the op at this place is for.
    pub fn phase(self) -> Phase {
        self.marks().phase
    }

    /// The dotted name of the layer whose forward made the op at this place.
    pub fn layer(self) -> Option<Arc<str>> {
        self.marks().layer()
    }

    /// Whether anything is known at all.
    #[inline]
    pub fn is_known(self) -> bool {
        !matches!(self, Loc::Unknown)
    }
}

impl PartialEq for Loc {
    fn eq(&self, other: &Loc) -> bool {
        match (*self, *other) {
            (Loc::Unknown, Loc::Unknown) => true,
            (Loc::Rust(a), Loc::Rust(b)) => std::ptr::eq(a, b) || a == b,
            (Loc::Interned(a), Loc::Interned(b)) => a == b,
            (Loc::Rust(at), Loc::Interned(id)) | (Loc::Interned(id), Loc::Rust(at)) => {
                Table::read(|table| {
                    let Some(entry) = table.entry(id) else { return false };
                    entry.line == at.line()
                        && entry.column == at.column()
                        && entry.function.is_none()
                        && entry.parent.is_none()
                        && entry.marks == Marks::default()
                        && table
                            .text(entry.file)
                            .is_some_and(|file| *file == *without_detours(at.file()))
                })
            }
            _ => false,
        }
    }
}

impl Eq for Loc {}

/// The path without `folder/..` pairs, which build tools leave in the paths of examples.
fn without_detours(path: &str) -> std::borrow::Cow<'_, str> {
    if !path.contains("/..") {
        return path.into();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match parts.last() {
            Some(&last) if part == ".." && last != ".." && !last.is_empty() => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/").into()
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_known() {
            return f.write_str("unknown place");
        }
        write!(f, "{}:{}", self.file(), self.line())?;
        match self.column() {
            0 => Ok(()),
            column => write!(f, ":{column}"),
        }
    }
}

impl fmt::Debug for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_give_the_same_entry() {
        let parent = Loc::intern("loc_a.py", 7, 0, None, None);
        let first = Loc::intern("loc_a.py", 3, 5, Some("f"), Some(parent));
        let again = Loc::intern("loc_a.py", 3, 5, Some("f"), Some(parent));
        assert_eq!(first, again);
        assert_ne!(first, Loc::intern("loc_a.py", 3, 5, Some("g"), Some(parent)));
        assert_ne!(first, Loc::intern("loc_a.py", 3, 5, Some("f"), None));
        assert_eq!(first.parent(), Some(parent));
        assert_eq!(first.function().as_deref(), Some("f"));
        assert_eq!((first.line(), first.column()), (3, 5));
    }

    #[test]
    fn rust_and_interned_places_compare_by_content() {
        let here = Loc::caller();
        let copy = Loc::intern(&here.file(), here.line(), here.column(), None, None);
        assert_eq!(here, copy);
        assert_eq!(copy, here);
        assert_ne!(here, Loc::caller());
        assert_ne!(here, Loc::Unknown);
        let inside = Loc::intern(&here.file(), here.line(), here.column(), Some("f"), None);
        assert_ne!(here, inside);
        let (by_rust, by_copy) = (
            Loc::intern("loc_b.py", 1, 0, None, Some(here)),
            Loc::intern("loc_b.py", 1, 0, None, Some(copy)),
        );
        assert_eq!(by_rust, by_copy);
    }

    #[test]
    fn marks_make_other_places_of_the_same_line() {
        let (here, read) = (Loc::caller(), Loc::intern("loc_d.py", 1, 0, Some("f"), None));
        for plain in [here, read] {
            assert_eq!((plain.phase(), plain.layer()), (Phase::Forward, None));
            let marked = plain.with_layer("mlp.0").with_phase(Phase::Backward);
            assert_eq!(
                (marked.phase(), marked.layer().as_deref()),
                (Phase::Backward, Some("mlp.0"))
            );
            assert_eq!(marked, plain.with_phase(Phase::Backward).with_layer("mlp.0"));
            assert_eq!(marked.function(), plain.function());
            assert_eq!(marked.to_string(), plain.to_string());
            assert_ne!(marked, plain);
            assert_ne!(marked, marked.with_layer("mlp.1"));
            assert_ne!(marked, marked.with_phase(Phase::Optimizer));
            assert_eq!(marked.with_marks(Marks::default()), plain);
        }
        assert_eq!(Loc::Unknown.with_layer("mlp").layer(), None);
    }

    #[test]
    fn inner_marks_count_before_outer_ones() {
        let outer = Marks::default().with_layer("net").with_phase(Phase::Optimizer);
        assert_eq!(Marks::default().within(outer), outer);
        let inner = Marks::default().with_layer("net.0").within(outer);
        assert_eq!((inner.phase, inner.layer().as_deref()), (Phase::Optimizer, Some("net.0")));
        assert_eq!(outer.with_phase(Phase::Backward).within(outer).phase, Phase::Backward);
        assert_eq!(outer.with_layer(""), outer);
    }

    #[test]
    fn display_leaves_out_an_unknown_column() {
        assert_eq!(Loc::intern("loc_c.py", 12, 0, Some("f"), None).to_string(), "loc_c.py:12");
        assert_eq!(Loc::intern("loc_c.rs", 12, 5, None, None).to_string(), "loc_c.rs:12:5");
        assert_eq!(Loc::Unknown.to_string(), "unknown place");
        assert_eq!(Loc::Interned(u32::MAX).line(), 0);
        assert!(Loc::caller().to_string().contains("loc.rs:"));
    }

    #[test]
    fn detours_in_paths_are_left_out() {
        assert_eq!(without_detours("crates/a/../../examples/b.rs"), "examples/b.rs");
        assert_eq!(without_detours("../x/y.rs"), "../x/y.rs");
        assert_eq!(without_detours("/../x.rs"), "/../x.rs");
        assert_eq!(without_detours("src/a..b.rs"), "src/a..b.rs");
    }
}
