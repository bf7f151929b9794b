//! Places in the user's source.

use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// A place in the user's source: a Rust call site, or one interned by a front end.
///
/// Two places are equal if file, line, column, function and parent are.
#[derive(Clone, Copy)]
pub enum Loc {
    /// Nothing is known.
    Unknown,
    /// A call site captured with [`Loc::caller`].
    Rust(&'static Location<'static>),
    /// An entry of the table of [`Loc::intern`].
    Interned(u32),
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
            table.entry_ids.get(&Entry { file, line, column, function, parent }).copied()
        });
        if let Some(id) = known {
            return Loc::Interned(id);
        }
        let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
        if table.entries.len() >= MAX_ENTRIES {
            return Loc::Unknown;
        }
        let file = table.name(file);
        let function = function.map(|name| table.name(name));
        let entry = Entry { file, line, column, function, parent };
        let new_id = table.entries.len() as u32;
        let id = *table.entry_ids.entry(entry).or_insert(new_id);
        if id == new_id {
            table.entries.push(entry);
        }
        Loc::Interned(id)
    }

    /// The table entry with this content, made if need be.
    fn into_id(self) -> Option<u32> {
        match self {
            Loc::Unknown => None,
            Loc::Interned(id) => Some(id),
            Loc::Rust(at) => match Loc::intern(at.file(), at.line(), at.column(), None, None) {
                Loc::Interned(id) => Some(id),
                _ => None,
            },
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
