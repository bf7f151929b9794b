//! Names that somebody typed, and those that there are.

/// The known names for an error, those that look most like `name` first.
pub fn listed<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let mut known: Vec<&str> = known.into_iter().collect();
    let key = |candidate: &str| {
        let name = name.to_lowercase();
        let candidate = candidate.to_lowercase();
        let part = candidate.contains(&name) || name.contains(&candidate);
        (if part { 0 } else { distance(&name, &candidate) }, candidate)
    };
    known.sort_by_cached_key(|candidate| key(candidate));
    match known.len() {
        0 => "there are none".to_string(),
        n if n > MOST => format!("{} and {} more", known[..MOST].join(", "), n - MOST),
        _ => known.join(", "),
    }
}

/// The known name that is meant: itself, or the only one that ends with it, after a mark such as a dot.
/// Several such names are returned as they are.
pub fn meant<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    if let Some(same) = known.iter().find(|candidate| **candidate == name) {
        return vec![same];
    }
    let ends = |candidate: &&&str| {
        let before = candidate.strip_suffix(name).and_then(|before| before.chars().last());
        before.is_some_and(|mark| !mark.is_alphanumeric())
    };
    known.iter().filter(ends).copied().collect()
}

/// How many letters have to be changed, added or removed to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_come_first() {
        assert_eq!(listed("wieght", ["bias", "count", "weight"]), "weight, bias, count");
        assert_eq!(listed("lr", ["alpha", "adam.lr"]), "adam.lr, alpha");
        assert_eq!(listed("x", []), "there are none");
        let many: Vec<String> = (0..30).map(|i| format!("w{i:02}")).collect();
        let listed = listed("w07", many.iter().map(String::as_str));
        assert!(listed.starts_with("w07, ") && listed.ends_with(" and 10 more"), "{listed}");
    }

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn the_end_of_a_name_will_do() {
        let known = ["adam.lr", "adam.t", "fc.w", "gc.w", "w"];
        assert_eq!(meant("lr", &known), ["adam.lr"]);
        assert_eq!(meant("w", &known), ["w"]);
        assert_eq!(meant("r", &known), [""; 0]);
        assert_eq!(meant("w", &known[..4]), ["fc.w", "gc.w"]);
    }
}
