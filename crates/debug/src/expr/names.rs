//! Names that somebody typed, and those that there are.

/// What to say of an unknown name: those that look like it, or else all, as far as they are few.
pub fn remedy(name: &str, known: &[String]) -> String {
    const MOST: usize = 12;
    let near = nearest(name, known);
    if !near.is_empty() {
        let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        return format!("did you mean {}?", quoted.join(" or "));
    }
    match known.len() {
        0 => "there are no names here".to_string(),
        n if n > MOST => format!("there are {} and {} more", known[..MOST].join(", "), n - MOST),
        _ => format!("there are {}", known.join(", ")),
    }
}

/// At most three names that look like this one, the most similar first.
pub fn nearest<'a>(name: &str, known: &'a [String]) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    // A name that nobody would type by accident costs no time.
    if wanted.is_empty() || wanted.len() > 200 {
        return Vec::new();
    }
    let mut near: Vec<(usize, &str)> = known
        .iter()
        .filter(|candidate| candidate.len() <= 200)
        .filter_map(|candidate| {
            let lower = candidate.to_lowercase();
            let is_part = wanted.len() > 1 && lower.ends_with(&format!(".{wanted}"));
            let distance = if is_part { 1 } else { distance(&wanted, &lower) };
            (distance <= 1 + wanted.chars().count() / 4).then_some((distance, candidate.as_str()))
        })
        .filter(|(distance, candidate)| *distance < candidate.chars().count())
        .collect();
    near.sort();
    near.dedup();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// How many letters have to be changed, added, removed or exchanged with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names() {
        let known: Vec<String> =
            ["loss", "fc1.weight", "fc2.weight", "h", "step"].map(String::from).into();
        for (name, near) in [
            ("los", &["loss"][..]),
            ("Loss", &["loss"]),
            ("fc1.wieght", &["fc1.weight", "fc2.weight"]),
            ("weight", &["fc1.weight", "fc2.weight"]),
            ("setp", &["step"]),
            ("gradient", &[]),
            ("", &[]),
        ] {
            let found = nearest(name, &known);
            assert_eq!(found, near, "{name}");
        }
        assert_eq!(remedy("q", &known), "there are loss, fc1.weight, fc2.weight, h, step");
        assert_eq!(remedy("stpe", &known), "did you mean `step`?");
    }
}
