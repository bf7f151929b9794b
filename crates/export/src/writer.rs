//! Lines of source.

/// Source that is written line by line.
#[derive(Default)]
pub struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    /// Begins within so many brackets.
    pub fn within(depth: usize) -> Writer {
        Writer { text: String::new(), depth }
    }

    pub fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n("    ", self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Writes a line that opens a bracket.
    pub fn open(&mut self, line: &str) {
        self.line(line);
        self.depth += 1;
    }

    /// Closes so many brackets.
    pub fn close(&mut self, count: usize) {
        for _ in 0..count {
            self.depth = self.depth.saturating_sub(1);
            self.line("}");
        }
    }

    /// Goes from one branch to the other.
    pub fn otherwise(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.open("} else {");
    }

    pub fn into_text(self) -> String {
        self.text
    }
}
