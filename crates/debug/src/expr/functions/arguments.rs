//! What a function is called with.

use fluvial_core::{Error, Result, Var};

use crate::expr::item::{Item, Number};
use crate::expr::operators::plain;

/// Arguments, which a function takes one after the other.
pub struct Arguments {
    items: std::collections::VecDeque<Item>,
    named: Vec<(String, Item)>,
}

impl Arguments {
    pub fn new(items: Vec<Item>, named: Vec<(String, Item)>) -> Arguments {
        Arguments { items: items.into(), named }
    }

    fn take(&mut self, names: &[&str]) -> Option<Item> {
        let named = self.named.iter().position(|(name, _)| names.contains(&name.as_str()));
        match named {
            Some(i) => Some(self.named.remove(i).1),
            None => self.items.pop_front(),
        }
    }

    fn take_named(&mut self, name: &str) -> Option<Item> {
        let i = self.named.iter().position(|(found, _)| found == name)?;
        Some(self.named.remove(i).1)
    }

    /// The next argument.
    pub fn item(&mut self, name: &str) -> Result<Item> {
        self.take(&[name])
            .ok_or_else(|| Error::argument(format!("the argument `{name}` is missing")))
    }

    /// The next argument as a tensor or a list.
    pub fn var(&mut self) -> Result<Var> {
        plain(self.item("x")?)
    }

    /// The next argument, if it is a number without a type.
    pub fn number(&mut self) -> Option<Number> {
        match self.items.front() {
            Some(Item::Number(number)) => {
                let number = *number;
                self.items.pop_front();
                Some(number)
            }
            _ => None,
        }
    }

    /// The axes that are named, all others that were not taken yet; none means all.
    pub fn axes(&mut self) -> Result<Vec<i64>> {
        let mut axes = Vec::new();
        for name in ["axis", "axes", "dim"] {
            if let Some(item) = self.take_named(name) {
                axes.extend(ints(name, item)?);
            }
        }
        while let Some(Item::Number(_) | Item::Row(_) | Item::Var(_)) = self.items.front()
            && let Some(item) = self.items.pop_front()
        {
            axes.extend(ints("axis", item)?);
        }
        Ok(axes)
    }

    /// Numbers for each axis: those of one row, or one by one.
    pub fn sizes(&mut self) -> Result<Vec<i64>> {
        let mut sizes = Vec::new();
        for name in ["sizes", "dims", "axes", "axis"] {
            if let Some(item) = self.take_named(name) {
                sizes.extend(ints(name, item)?);
            }
        }
        while let Some(item) = self.items.pop_front() {
            sizes.extend(ints("sizes", item)?);
        }
        Ok(sizes)
    }

    /// The next argument as an axis.
    pub fn axis(&mut self, otherwise: i64) -> Result<i64> {
        match self.take(&["axis", "dim"]) {
            Some(item) => int("axis", item),
            None => Ok(otherwise),
        }
    }

    /// The next argument as an integer.
    pub fn int(&mut self, name: &str, otherwise: Option<i64>) -> Result<i64> {
        match (self.take(&[name]), otherwise) {
            (Some(item), _) => int(name, item),
            (None, Some(otherwise)) => Ok(otherwise),
            (None, None) => Err(Error::argument(format!("the argument `{name}` is missing"))),
        }
    }

    /// The next argument as a number, if there is one.
    pub fn float(&mut self, name: &str) -> Result<Option<f64>> {
        self.take(&[name]).map(|item| float(name, item)).transpose()
    }

    /// A number that is always given by its name.
    pub fn named_float(&mut self, name: &str, otherwise: f64) -> Result<f64> {
        self.take_named(name).map_or(Ok(otherwise), |item| float(name, item))
    }

    /// A yes or no that is always given by its name.
    pub fn flag(&mut self, name: &str, otherwise: bool) -> Result<bool> {
        self.take_named(name).map_or(Ok(otherwise), |item| Ok(float(name, item)? != 0.0))
    }

    /// The next argument as a text.
    pub fn text(&mut self, name: &str) -> Result<String> {
        match self.item(name)? {
            Item::Text(text) | Item::Quoted(text) => Ok(text),
            _ => Err(Error::argument(format!("the argument `{name}` is a text in quotes"))),
        }
    }

    /// An error if an argument has no meaning.
    pub fn all_used(&self) -> Result<()> {
        match (self.named.first(), self.items.len()) {
            (Some((name, _)), _) => Err(Error::argument(format!("there is no argument `{name}`"))),
            (None, 0) => Ok(()),
            (None, 1) => Err(Error::argument("there is one argument too many")),
            (None, n) => Err(Error::argument(format!("there are {n} arguments too many"))),
        }
    }
}

fn int(name: &str, item: Item) -> Result<i64> {
    match ints(name, item)?[..] {
        [n] => Ok(n),
        ref numbers => {
            let n = numbers.len();
            Err(Error::argument(format!("`{name}` is one integer, and {n} were given")))
        }
    }
}

fn ints(name: &str, item: Item) -> Result<Vec<i64>> {
    let fault = || Error::argument(format!("`{name}` has to be an integer"));
    match item {
        Item::Number(number) => Ok(vec![number.int().ok_or_else(fault)?]),
        Item::Row(numbers) => numbers.iter().map(|number| number.int().ok_or_else(fault)).collect(),
        item => {
            let var = plain(item)?;
            let tensor = var.tensor()?;
            // More axes than these do not exist.
            if !tensor.dtype().is_int() || tensor.numel() > 64 {
                return Err(fault());
            }
            fluvial_ops::cast(&var, fluvial_core::DType::I64)?.to_vec()
        }
    }
}

fn float(name: &str, item: Item) -> Result<f64> {
    match item {
        Item::Number(number) => Ok(number.float()),
        item => {
            plain(item)?.item().map_err(|error| error.note(format!("in the argument `{name}`")))
        }
    }
}
