//! The equations of `einsum`, read.

use crate::prelude::*;

/// An index: a letter, or an axis under an ellipsis.
pub(super) type Label = u32;

/// The indices of each operand and of the result.
pub(super) struct Spec {
    pub inputs: Vec<Vec<Label>>,
    pub output: Vec<Label>,
}

/// The label of an axis under an ellipsis, counted from the right, where ellipses are aligned.
fn under_ellipsis(from_right: usize) -> Label {
    char::MAX as Label + 1 + from_right as Label
}

/// The index as a user would write it.
pub(super) fn name(label: Label) -> String {
    match char::from_u32(label) {
        Some(letter) => format!("`{letter}`"),
        None => format!("axis -{} under the ellipsis", label - char::MAX as Label),
    }
}

impl Spec {
    /// Reads an equation for operands of these ranks.
    pub fn read(equation: &str, ranks: &[usize]) -> Result<Spec> {
        let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (&*text, None),
        };
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != ranks.len() {
            return Err(Error::argument(format!(
                "`{equation}` has indices for {} operands, {} were given",
                terms.len(),
                ranks.len()
            )));
        }
        let mut inputs = Vec::new();
        let mut most_hidden = 0;
        for (term, &rank) in terms.iter().zip(ranks) {
            let (labels, hidden) = read_term(term, rank)?;
            most_hidden = most_hidden.max(hidden);
            inputs.push(labels);
        }
        let ellipsis: Vec<Label> = (0..most_hidden).rev().map(under_ellipsis).collect();
        let output = match right {
            Some(right) => explicit(right, &inputs, &ellipsis)?,
            None => implicit(&inputs, ellipsis),
        };
        Ok(Spec { inputs, output })
    }
}

/// The labels of one operand, and how many of them an ellipsis stands for.
fn read_term(term: &str, rank: usize) -> Result<(Vec<Label>, usize)> {
    let (before, after) = match term.split_once("...") {
        Some((before, after)) => (letters(before)?, Some(letters(after)?)),
        None => (letters(term)?, None),
    };
    let named = before.len() + after.as_ref().map_or(0, Vec::len);
    let fits = if after.is_some() { named <= rank } else { named == rank };
    if !fits {
        return Err(Error::shape(format!("`{term}` has {named} indices, its operand {rank} axes"))
            .remedy("name each axis by a letter; `...` stands for any number of axes"));
    }
    let hidden = rank - named;
    let mut labels = before;
    if let Some(after) = after {
        labels.extend((0..hidden).rev().map(under_ellipsis));
        labels.extend(after);
    }
    Ok((labels, hidden))
}

fn letters(text: &str) -> Result<Vec<Label>> {
    let read = |letter: char| match letter.is_alphabetic() {
        true => Ok(letter as Label),
        false => Err(Error::argument(format!("`{letter}` is not an index"))
            .remedy("an equation is like `ij,jk->ik`; `...` stands for any number of axes")),
    };
    text.chars().map(read).collect()
}

fn explicit(right: &str, inputs: &[Vec<Label>], ellipsis: &[Label]) -> Result<Vec<Label>> {
    let mut output = Vec::new();
    match right.split_once("...") {
        Some((before, after)) => {
            output.extend(letters(before)?);
            output.extend(ellipsis);
            output.extend(letters(after)?);
        }
        None => output.extend(letters(right)?),
    }
    for (i, &label) in output.iter().enumerate() {
        if output[..i].contains(&label) {
            return Err(Error::argument(format!("{} is twice in the result", name(label)))
                .remedy("an index may stand once behind the arrow"));
        }
        if !inputs.iter().any(|labels| labels.contains(&label)) {
            return Err(Error::argument(format!("{} is in no operand", name(label))));
        }
    }
    Ok(output)
}

/// The axes under ellipses, then the letters that occur once, in the order of the alphabet.
fn implicit(inputs: &[Vec<Label>], ellipsis: Vec<Label>) -> Vec<Label> {
    let all: Vec<Label> = inputs.iter().flatten().copied().collect();
    let is_letter = |label: &Label| *label <= char::MAX as Label;
    let once = |label: &Label| all.iter().filter(|other| *other == label).count() == 1;
    let mut letters: Vec<Label> =
        all.iter().copied().filter(|label| is_letter(label) && once(label)).collect();
    letters.sort_unstable();
    [ellipsis, letters].concat()
}
