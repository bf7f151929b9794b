//! Text as rustfmt leaves it, so that generated code needs no formatter.

use std::cmp::Ordering;

/// The longest line.
const MAX_WIDTH: usize = 100;

/// `head{a, b, c};`, without braces for a single name, over several lines if it must be.
pub fn use_list(head: &str, names: &[String]) -> String {
    let joined = names.join(", ");
    let one_line = match names {
        [name] => format!("{head}{name};\n"),
        _ => format!("{head}{{{joined}}};\n"),
    };
    if one_line.trim_end().len() <= MAX_WIDTH {
        return one_line;
    }
    format!("{head}{{\n{}}};\n", fill(names, "    "))
}

/// A line of documentation without links: [`relu`](ops::relu) is `relu`.
pub fn without_links(line: &str) -> String {
    let mut text = line.replace("[`", "`");
    while let Some(at) = text.find("`]") {
        let rest = &text[at + 2..];
        // The target of a link may be a function: `(super::unfold())`.
        let mut depth = 0;
        let closes = |c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        };
        let end = match rest.starts_with('(').then(|| rest.find(closes)).flatten() {
            Some(close) => at + 2 + close + 1,
            None => at + 2,
        };
        text = format!("{}`{}", &text[..at], &text[end..]);
    }
    text
}

/// `head(params)tail`, with each parameter on a line of its own if it does not fit.
pub fn signature(indent: &str, head: &str, params: &[String], tail: &str) -> String {
    let one_line = format!("{indent}{head}({}){tail}\n", params.join(", "));
    if one_line.trim_end().len() == MAX_WIDTH && tail.ends_with(';') {
        // rustfmt keeps a column free here.
        return format!("{indent}{head}({})\n{indent}{}\n", params.join(", "), tail.trim_start());
    }
    if one_line.trim_end().len() <= MAX_WIDTH {
        return one_line;
    }
    let lines: Vec<String> = params.iter().map(|param| format!("{indent}    {param},\n")).collect();
    format!("{indent}{head}(\n{}{indent}){tail}\n", lines.concat())
}

/// The order in which rustfmt sorts names: underscores first, and numbers by their value.
pub fn name_order(a: &str, b: &str) -> Ordering {
    let (mut rest_a, mut rest_b) = (a, b);
    while !rest_a.is_empty() && !rest_b.is_empty() {
        let (chunk_a, chunk_b) = (chunk(rest_a), chunk(rest_b));
        let key = |text: &str| !text.starts_with('_');
        let by_value = match (chunk_a.parse::<u64>(), chunk_b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            _ => chunk_a.cmp(chunk_b),
        };
        let order = key(chunk_a).cmp(&key(chunk_b)).then(by_value);
        if order.is_ne() {
            return order;
        }
        (rest_a, rest_b) = (&rest_a[chunk_a.len()..], &rest_b[chunk_b.len()..]);
    }
    rest_a.len().cmp(&rest_b.len())
}

/// The longest start of a text that is all underscores, all digits, or neither.
fn chunk(text: &str) -> &str {
    let kind = |c: char| (c == '_', c.is_ascii_digit());
    let first = text.chars().next().map(kind);
    &text[..text.find(|c| Some(kind(c)) != first).unwrap_or(text.len())]
}

/// `head { a, b };`, with each field on a line of its own if they do not fit.
pub fn literal(indent: &str, head: &str, fields: &[String]) -> String {
    let one_line = format!("{indent}{head} {{ {} }};\n", fields.join(", "));
    if one_line.trim_end().len() <= MAX_WIDTH {
        return one_line;
    }
    let lines: Vec<String> = fields.iter().map(|field| format!("{indent}    {field},\n")).collect();
    format!("{indent}{head} {{\n{}{indent}}};\n", lines.concat())
}

/// `open body close`, with the body on a line of its own if it does not fit.
pub fn wrapped(open: &str, body: &str, close: &str) -> String {
    let one_line = format!("{open}{body}{close}\n");
    if one_line.trim_end().len() <= MAX_WIDTH {
        return one_line;
    }
    format!("{open}\n    {body}\n{close}\n")
}

/// Words in lines of a comment.
pub fn comment(lead: &str, text: &str) -> String {
    let mut lines = String::new();
    let mut line = lead.to_string();
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > MAX_WIDTH {
            lines += &format!("{line}\n");
            line = lead.to_string();
        }
        line += &format!(" {word}");
    }
    lines + &line + "\n"
}

/// Names with commas, as many in a line as fit.
fn fill(names: &[String], indent: &str) -> String {
    let mut lines = String::new();
    let mut line = indent.to_string();
    for name in names {
        let space = if line.len() > indent.len() { " " } else { "" };
        if line.len() + space.len() + name.len() + 1 > MAX_WIDTH {
            lines += &format!("{line}\n");
            line = format!("{indent}{name},");
        } else {
            line += &format!("{space}{name},");
        }
    }
    lines + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("name_{i:02}")).collect()
    }

    #[test]
    fn lists_of_names_wrap() {
        assert_eq!(use_list("pub use a::", &names(1)), "pub use a::name_00;\n");
        assert_eq!(use_list("pub use a::", &names(2)), "pub use a::{name_00, name_01};\n");
        let full_line: Vec<String> = names(10).iter().map(|name| format!("{name},")).collect();
        let wrapped =
            format!("use a::{{\n    {}\n    name_10, name_11,\n}};\n", full_line.join(" "));
        assert_eq!(use_list("use a::", &names(12)), wrapped);
    }

    #[test]
    fn names_are_in_the_order_of_rustfmt() {
        let mut names = ["logical_not", "log10", "log_sigmoid", "log2", "log", "log1p"];
        names.sort_by(|a, b| name_order(a, b));
        assert_eq!(names, ["log", "log_sigmoid", "log1p", "log2", "log10", "logical_not"]);
    }

    #[test]
    fn signatures_wrap() {
        assert_eq!(signature("    ", "fn f", &names(2), ";"), "    fn f(name_00, name_01);\n");
        let lines: String = names(12).iter().map(|name| format!("    {name},\n")).collect();
        assert_eq!(signature("", "fn f", &names(12), " {"), format!("fn f(\n{lines}) {{\n"));
    }
}
