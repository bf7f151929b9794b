//! Colours, if they are wanted.

/// Puts text in colours, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub struct Paint(pub bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        match self.0 && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_string(),
        }
    }

    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub fn red(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    pub fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }
}
