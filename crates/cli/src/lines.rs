//! How two listings of programs differ, line by line.

/// A line of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A line of the first listing only.
    Gone(String),
    /// A line of the second listing only.
    New(String),
    /// A line of both, near a difference.
    Same(String),
    /// So many lines of both.
    Skipped(usize),
}

impl Change {
    /// The line, if it is of the first listing only.
    pub fn gone(&self) -> Option<&str> {
        if let Change::Gone(line) = self { Some(line) } else { None }
    }

    /// The line, if it is of the second listing only.
    pub fn new_line(&self) -> Option<&str> {
        if let Change::New(line) = self { Some(line) } else { None }
    }
}

/// Lines of both that are shown around a difference.
const CONTEXT: usize = 2;

/// Above this many pairs of lines, all that lies between the first and the last difference counts as changed.
const MAX_PAIRS: usize = 1 << 24;

/// The differences of two texts that differ.
///
/// Values without a name are numbered, so one more line changes the numbers of all that follow. Lines that
/// differ in such numbers only count as the same, unless there is no other difference.
pub fn changes(a: &str, b: &str) -> Vec<Change> {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.lines().collect(), b.lines().collect());
    let keys = |lines: &[&str]| lines.iter().map(|line| unnumbered(line)).collect::<Vec<_>>();
    let (keys_a, keys_b) = (keys(&a), keys(&b));
    match keys_a == keys_b {
        true => aligned(&a, &b, |i, j| a[i] == b[j]),
        false => aligned(&a, &b, |i, j| keys_a[i] == keys_b[j]),
    }
}

/// The line without the numbers of values.
fn unnumbered(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        text.push(c);
        if c == '%' {
            while chars.next_if(char::is_ascii_digit).is_some() {}
        }
    }
    text
}

fn aligned(a: &[&str], b: &[&str], same: impl Fn(usize, usize) -> bool) -> Vec<Change> {
    let least = a.len().min(b.len());
    let before = (0..least).take_while(|&i| same(i, i)).count();
    let after = (1..=least - before).take_while(|&i| same(a.len() - i, b.len() - i)).count();
    let (n, m) = (a.len() - before - after, b.len() - before - after);
    let mut all: Vec<Change> =
        a[..before].iter().map(|line| Change::Same(line.to_string())).collect();
    if n.saturating_mul(m) > MAX_PAIRS {
        all.extend(a[before..before + n].iter().map(|line| Change::Gone(line.to_string())));
        all.extend(b[before..before + m].iter().map(|line| Change::New(line.to_string())));
    } else {
        // By pair of positions: how many lines of the rests can be matched.
        let mut matched = vec![0u32; (n + 1) * (m + 1)];
        let at = |i: usize, j: usize| i * (m + 1) + j;
        for i in (0..n).rev() {
            for j in (0..m).rev() {
                matched[at(i, j)] = match same(before + i, before + j) {
                    true => matched[at(i + 1, j + 1)] + 1,
                    false => matched[at(i + 1, j)].max(matched[at(i, j + 1)]),
                };
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < n || j < m {
            if i < n && j < m && same(before + i, before + j) {
                all.push(Change::Same(a[before + i].to_string()));
                (i, j) = (i + 1, j + 1);
            } else if j == m || i < n && matched[at(i + 1, j)] >= matched[at(i, j + 1)] {
                all.push(Change::Gone(a[before + i].to_string()));
                i += 1;
            } else {
                all.push(Change::New(b[before + j].to_string()));
                j += 1;
            }
        }
    }
    all.extend(a[a.len() - after..].iter().map(|line| Change::Same(line.to_string())));
    shortened(all)
}

/// Leaves out what is the same and far from differences.
fn shortened(all: Vec<Change>) -> Vec<Change> {
    let is_same = |change: &Change| matches!(change, Change::Same(_));
    let near: Vec<bool> = (0..all.len())
        .map(|i| {
            let around = i.saturating_sub(CONTEXT)..(i + CONTEXT + 1).min(all.len());
            all[around].iter().any(|change| !is_same(change))
        })
        .collect();
    let mut shown = Vec::new();
    for (change, near) in all.into_iter().zip(near) {
        match (near, shown.last_mut()) {
            (true, _) => shown.push(change),
            (false, Some(Change::Skipped(n))) => *n += 1,
            (false, _) => shown.push(Change::Skipped(1)),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &str, b: &str, expected: &[&str]) {
        let text = |change: &Change| match change {
            Change::Gone(line) => format!("-{line}"),
            Change::New(line) => format!("+{line}"),
            Change::Same(line) => format!(" {line}"),
            Change::Skipped(n) => format!("..{n}"),
        };
        let found: Vec<String> = changes(a, b).iter().map(text).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn differences_stand_in_their_surroundings() {
        check("a\nb\nc\nd\ne\nf", "a\nb\nc\nx\ne\nf", &["..1", " b", " c", "-d", "+x", " e", " f"]);
        check("a", "a\nb", &[" a", "+b"]);
        check("", "a", &["+a"]);
        check("a\nb\na", "b\na\nb", &["-a", " b", " a", "+b"]);
    }

    #[test]
    fn numbers_of_values_are_no_difference() {
        let (a, b) = ("%0 = exp(%x)\n%1 = neg(%0)", "%0 = exp(%x)\n%1 = sin(%0)\n%2 = neg(%1)");
        check(a, b, &[" %0 = exp(%x)", "+%1 = sin(%0)", " %1 = neg(%0)"]);
    }

    #[test]
    fn numbers_of_values_are_the_only_difference() {
        check("%2 = sub(%0, %1)", "%2 = sub(%1, %0)", &["-%2 = sub(%0, %1)", "+%2 = sub(%1, %0)"]);
    }
}
