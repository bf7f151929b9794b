//! Text as rustfmt leaves it, so that generated code needs no formatter.

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

/// `head(params)tail`, with each parameter on a line of its own if it does not fit.
pub fn signature(indent: &str, head: &str, params: &[String], tail: &str) -> String {
    let one_line = format!("{indent}{head}({}){tail}\n", params.join(", "));
    if one_line.trim_end().len() <= MAX_WIDTH {
        return one_line;
    }
    let lines: Vec<String> = params.iter().map(|param| format!("{indent}    {param},\n")).collect();
    format!("{indent}{head}(\n{}{indent}){tail}\n", lines.concat())
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
    fn signatures_wrap() {
        assert_eq!(signature("    ", "fn f", &names(2), ";"), "    fn f(name_00, name_01);\n");
        let lines: String = names(12).iter().map(|name| format!("    {name},\n")).collect();
        assert_eq!(signature("", "fn f", &names(12), " {"), format!("fn f(\n{lines}) {{\n"));
    }
}
