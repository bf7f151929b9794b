//! Open readers, and where one stands in them.

use std::fmt;
use std::sync::Arc;

use fluvial_tensor::{Error, Result};

use super::Reader;
use super::compile::compile;
use super::node::{Node, Op};
use super::walk::{Walk, walk};
use crate::source::{Field, Position, Sample};

/// A reader whose files are open and whose stages are known to fit together. Any number of cursors can read
/// from it at once.
pub struct Open {
    reader: Reader,
    node: Arc<Node>,
}

impl Open {
    pub(super) fn new(reader: &Reader) -> Result<Arc<Open>> {
        Ok(Arc::new(Open { reader: reader.clone(), node: compile(reader)? }))
    }

    /// The description.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// What each result consists of. After `batch`, the first size is a number if all batches have as many
    /// samples, else the symbol `batch`.
    pub fn fields(&self) -> &[Field] {
        &self.node.fields
    }

    /// How many results a pass has; none if only reading tells.
    pub fn len(&self, _epoch: u64) -> Option<u64> {
        self.node.len
    }

    /// How many samples are in a batch, for each number that occurs, the largest first: of whole batches, and of the last
    /// one. Nothing if there is no `batch`, or if only reading tells.
    pub fn batch_sizes(&self) -> Vec<u64> {
        let mut node = &self.node;
        loop {
            node = match &node.op {
                Op::Batch { input, size, drop_last } => {
                    let Some(len) = input.len else { return vec![*size] };
                    let whole = Some(*size).filter(|size| len >= *size);
                    let last = Some(len % size).filter(|&last| last > 0 && !drop_last);
                    return whole.into_iter().chain(last).collect();
                }
                Op::Prefetch { input, .. }
                | Op::Each { input, .. }
                | Op::Permute { input, .. }
                | Op::Window { input, .. }
                | Op::Shard { input, .. }
                | Op::Repeat { input, .. } => input,
                _ => return Vec::new(),
            };
        }
    }

    /// Whether a pass is known to have no results.
    pub fn is_empty(&self) -> bool {
        self.node.len == Some(0)
    }

    /// A cursor at a position.
    pub fn start(self: &Arc<Open>, position: Position) -> Result<Cursor> {
        if let Some(len) = self.node.len
            && position.index > len
        {
            return Err(Error::argument(format!(
                "a pass has {len} results, and cannot be continued after {}",
                position.index
            ))
            .remedy("continue with the reader and the data that the position was saved with"));
        }
        Ok(Cursor {
            open: self.clone(),
            position,
            is_over: false,
            walk: None,
            peeked: None,
            process: 0,
        })
    }

    /// The results from a position to the end of its pass.
    pub fn iter_from(self: &Arc<Open>, position: Position) -> Result<Results> {
        Ok(Results { cursor: Some(self.start(position)?) })
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Open({})", self.reader)
    }
}

/// Gives the results of an open reader one after another.
///
/// ```
/// use fluvial_data::{Position, Reader};
/// use fluvial_tensor::Tensor;
/// let x = Tensor::from_slice(&[10, 11, 12, 13], &[4])?;
/// let open = Reader::of([("x", x)])?.shuffle(1).open()?;
/// let mut cursor = open.start(Position::default())?;
/// cursor.next()?;
/// let mut other = open.start(cursor.position())?;
/// while let Some(sample) = cursor.next()? {
///     assert!(sample[0].bitwise_eq(&other.next()?.unwrap()[0]));
/// }
/// assert_eq!(cursor.position(), Position { epoch: 1, index: 0 });
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub struct Cursor {
    open: Arc<Open>,
    position: Position,
    /// Whether the end of the pass was seen; the position is then the start of the next one.
    is_over: bool,
    walk: Option<Box<dyn Walk>>,
    /// What was made to see whether there is more.
    peeked: Option<Sample>,
    /// The process that the walk was started in. A fork has none of its threads.
    process: u32,
}

impl Cursor {
    /// The next result; none if the pass is over, until [`Cursor::next_epoch`]. After an error the position
    /// is as before, and the next call tries again.
    #[expect(
        clippy::should_implement_trait,
        reason = "it can fail, and goes on with the next pass"
    )]
    pub fn next(&mut self) -> Result<Option<Sample>> {
        let next = match self.peeked.take() {
            Some(sample) => Some(sample),
            None => self.fetch()?,
        };
        match &next {
            Some(_) => self.position.index += 1,
            None if self.is_over => {}
            None => self.end(),
        }
        Ok(next)
    }

    /// Whether there is a further result in this pass. Its position does not change, even at the end.
    pub fn has_next(&mut self) -> Result<bool> {
        if self.is_over || self.peeked.is_some() {
            return Ok(!self.is_over);
        }
        if let Some(len) = self.open.node.len {
            return Ok(self.position.index < len);
        }
        self.peeked = self.fetch()?;
        Ok(self.peeked.is_some())
    }

    /// The position of the next result; at the end of a pass, the start of the next one.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Goes to the start of the next pass, also from the middle of one.
    pub fn next_epoch(&mut self) {
        if !self.is_over {
            self.end();
        }
        self.is_over = false;
    }

    /// The open reader.
    pub fn open(&self) -> &Arc<Open> {
        &self.open
    }

    fn end(&mut self) {
        self.forget();
        self.is_over = true;
        self.position = Position { epoch: self.position.epoch.wrapping_add(1), index: 0 };
    }

    fn forget(&mut self) {
        self.walk = None;
        self.peeked = None;
    }

    fn fetch(&mut self) -> Result<Option<Sample>> {
        if self.is_over {
            return Ok(None);
        }
        let process = std::process::id();
        if self.process != process {
            // The threads and locks of the old walk are those of another process: not even dropping it is
            // safe.
            std::mem::forget(self.walk.take());
            self.process = process;
        }
        let walk = match &mut self.walk {
            Some(walk) => walk,
            none => none.insert(walk(&self.open.node, self.position.epoch, self.position.index)?),
        };
        let next = walk.next();
        if next.is_err() {
            self.walk = None;
        }
        next
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cursor({}, {:?})", self.open.reader, self.position)
    }
}

/// The results of one pass. After an error there are no more.
#[derive(Debug)]
pub struct Results {
    cursor: Option<Cursor>,
}

impl Iterator for Results {
    type Item = Result<Sample>;

    fn next(&mut self) -> Option<Result<Sample>> {
        let next = self.cursor.as_mut()?.next().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.cursor = None;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_tensor::Tensor;

    #[test]
    fn cursors_move_between_threads_and_open_readers_are_shared() {
        fn is_sent<T: Send>() {}
        fn is_shared<T: Send + Sync>() {}
        is_sent::<Cursor>();
        is_shared::<Arc<Open>>();
        is_shared::<Reader>();
    }

    struct Orphan;

    impl Walk for Orphan {
        fn next(&mut self) -> Result<Option<Sample>> {
            Err(Error::internal("the thread is gone"))
        }
    }

    impl Drop for Orphan {
        fn drop(&mut self) {
            unreachable!("the locks of another process were touched");
        }
    }

    #[test]
    fn after_a_fork_the_thread_is_another() {
        let x = Tensor::from_vec((0..50_i64).collect(), &[50]).unwrap();
        let open = Reader::of([("x", x)]).unwrap().shuffle(1).batch(3, false).prefetch(2);
        let open = open.open().unwrap();
        let expected: Vec<Sample> =
            open.iter_from(Position::default()).unwrap().collect::<Result<_>>().unwrap();
        let mut cursor = open.start(Position::default()).unwrap();
        for (i, expected) in expected.iter().enumerate() {
            if i % 5 == 4 {
                // What a child sees: a walk whose thread will never answer.
                cursor.process = cursor.process.wrapping_add(1);
                cursor.walk = Some(Box::new(Orphan));
            }
            assert!(cursor.next().unwrap().unwrap()[0].bitwise_eq(&expected[0]));
        }
        assert!(cursor.next().unwrap().is_none());
    }
}
