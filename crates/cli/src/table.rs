//! Text in columns.

/// Lines of cells, each column as wide as its widest cell. Columns listed in `right` are aligned at their end.
pub fn table(rows: &[Vec<String>], right: &[usize]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| {
        rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let gap = if i == 0 { "" } else { "  " };
            line += &match right.contains(&i) {
                true => format!("{gap}{cell:>width$}"),
                false => format!("{gap}{cell:width$}"),
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A row of cells.
pub fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(String::from).to_vec()
}

/// So many things of a kind.
pub fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// So many bytes, in a few digits.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut unit = 0;
    let mut size = n as f64;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{size:.1} {}", UNITS[unit]) }
}

/// A time, in a few digits.
pub fn seconds(time: f64) -> String {
    match time {
        t if t < 1e-3 => format!("{:.2} us", t * 1e6),
        t if t < 1.0 => format!("{:.3} ms", t * 1e3),
        t if t < 120.0 => format!("{t:.3} s"),
        t => format!("{:.1} min", t / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [row(["name", "n"]), row(["x", "10"]), row(["long name", "7"])];
        assert_eq!(table(&rows, &[1]), "name        n\nx          10\nlong name   7\n");
        assert_eq!(table(&[], &[]), "");
    }

    #[test]
    fn amounts() {
        assert_eq!([bytes(7), bytes(1536), bytes(3 << 30)], ["7 B", "1.5 KB", "3.0 GB"]);
        assert_eq!(
            [seconds(2.5e-6), seconds(0.25), seconds(600.0)],
            ["2.50 us", "250.000 ms", "10.0 min"]
        );
    }
}
