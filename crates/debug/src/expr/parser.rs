//! Words to expressions, by precedence.

use fluvial_core::Error;

use super::ast::{Argument, Base, Binary, Kind, Node, Part, Post, PostKind, Unary};
use super::fault::Fault;
use super::item::Number;
use super::lexer::{Token, Word, lex};

/// How deep expressions may be nested; what is deeper would need too much of the stack.
const DEEPEST: usize = 100;

/// A whole text that is an expression.
pub fn expression(text: &str) -> Result<Node, Fault> {
    let mut parser = Parser::new(text)?;
    let node = parser.expression(0)?;
    parser.end()?;
    Ok(node)
}

pub struct Parser {
    tokens: Vec<Token>,
    position: usize,
    depth: usize,
}

impl Parser {
    pub fn new(text: &str) -> Result<Parser, Fault> {
        Ok(Parser { tokens: lex(text)?, position: 0, depth: 0 })
    }

    pub fn at(&self) -> usize {
        self.tokens[self.position].at
    }

    fn word(&self) -> &Word {
        &self.tokens[self.position].word
    }

    fn advance(&mut self) {
        // The last word is the end, and stays.
        self.position = (self.position + 1).min(self.tokens.len() - 1);
    }

    pub fn mark(&mut self, mark: &str) -> bool {
        let is = matches!(self.word(), Word::Mark(found) if *found == mark);
        if is {
            self.advance();
        }
        is
    }

    fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self.word(), Word::Name(name) if name == keyword)
    }

    fn expect(&mut self, mark: &str, opened: usize) -> Result<(), Fault> {
        if self.mark(mark) {
            return Ok(());
        }
        let found = self.found();
        let error = Error::parse(format!("expected `{mark}`, found {found}"))
            .remedy(format!("close what is open since column {}", opened + 1));
        Err(Fault::new(self.at(), error))
    }

    fn found(&self) -> String {
        match self.word() {
            Word::Int(n) => format!("`{n}`"),
            Word::Float(x) => format!("`{x}`"),
            Word::Name(name) => format!("`{name}`"),
            Word::Quoted(name) => format!("\"{name}\""),
            Word::Mark(mark) => format!("`{mark}`"),
            Word::End => "the end".to_string(),
        }
    }

    pub fn end(&self) -> Result<(), Fault> {
        let remedy = match self.word() {
            Word::End => return Ok(()),
            Word::Mark("=") => "compare by `==`",
            Word::Mark("&&") => "write `and`",
            Word::Mark("||") => "write `or`",
            _ => "put an operator between two values",
        };
        let error = Error::parse(format!("did not expect {} here", self.found())).remedy(remedy);
        Err(Fault::new(self.at(), error))
    }

    fn node(at: usize, kind: Kind, depth: usize) -> Result<Node, Fault> {
        if depth > DEEPEST {
            return Err(too_deep(at));
        }
        Ok(Node { at, depth, kind })
    }

    pub fn binary(op: Binary, a: Node, b: Node) -> Result<Node, Fault> {
        let (at, depth) = (a.at, a.depth.max(b.depth) + 1);
        Parser::node(at, Kind::Binary(op, Box::new(a), Box::new(b)), depth)
    }

    /// An expression whose operators bind at least as tightly as `least`.
    pub fn expression(&mut self, least: u8) -> Result<Node, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(too_deep(self.at()));
        }
        let mut left = self.prefixed()?;
        while let Some((operator, binds)) = self.operator().filter(|(_, binds)| *binds >= least) {
            self.advance();
            left = self.joined(left, operator, binds)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn joined(&mut self, left: Node, operator: Operator, binds: u8) -> Result<Node, Fault> {
        // A power binds to the right, and so less tightly than a sign on its right.
        let next =
            if matches!(operator, Operator::Binary(Binary::Pow)) { binds } else { binds + 1 };
        let right = self.expression(next)?;
        let (at, depth) = (left.at, left.depth.max(right.depth) + 1);
        let kind = match operator {
            Operator::And => Kind::And(Box::new(left), Box::new(right)),
            Operator::Or => Kind::Or(Box::new(left), Box::new(right)),
            Operator::Binary(op) if op.compares() => return self.compared(left, op, right),
            Operator::Binary(op) => Kind::Binary(op, Box::new(left), Box::new(right)),
        };
        Parser::node(at, kind, depth)
    }

    /// A chain of comparisons: `0 < x <= 1`.
    fn compared(&mut self, left: Node, op: Binary, right: Node) -> Result<Node, Fault> {
        let (at, mut depth) = (left.at, left.depth.max(right.depth) + 1);
        let mut others = vec![(op, right)];
        while let Some((Operator::Binary(op), binds)) = self.operator()
            && op.compares()
        {
            self.advance();
            let right = self.expression(binds + 1)?;
            depth = depth.max(right.depth + 1);
            others.push((op, right));
        }
        Parser::node(at, Kind::Compare(Box::new(left), others), depth)
    }

    fn operator(&self) -> Option<(Operator, u8)> {
        use Binary::*;
        let (op, binds) = match self.word() {
            Word::Name(name) if name == "or" => return Some((Operator::Or, 1)),
            Word::Name(name) if name == "and" => return Some((Operator::And, 2)),
            Word::Mark(mark) => match *mark {
                "==" => (Eq, 4),
                "!=" => (Ne, 4),
                "<" => (Lt, 4),
                "<=" => (Le, 4),
                ">" => (Gt, 4),
                ">=" => (Ge, 4),
                "|" => (BitOr, 5),
                "^" => (BitXor, 6),
                "&" => (BitAnd, 7),
                "+" => (Add, 8),
                "-" => (Sub, 8),
                "*" => (Mul, 9),
                "/" => (Div, 9),
                "//" => (FloorDiv, 9),
                "%" => (Remainder, 9),
                "@" => (Matmul, 9),
                "**" => (Pow, 11),
                _ => return None,
            },
            _ => return None,
        };
        Some((Operator::Binary(op), binds))
    }

    fn prefixed(&mut self) -> Result<Node, Fault> {
        let at = self.at();
        if self.is_keyword("not") {
            self.advance();
            let inner = self.expression(3)?;
            let depth = inner.depth + 1;
            return Parser::node(at, Kind::Not(Box::new(inner)), depth);
        }
        let sign = match self.word() {
            Word::Mark("-") => Unary::Negative,
            Word::Mark("+") => Unary::Positive,
            Word::Mark("~") => Unary::Invert,
            _ => return self.chain(),
        };
        self.advance();
        let inner = self.expression(10)?;
        let depth = inner.depth + 1;
        Parser::node(at, Kind::Unary(sign, Box::new(inner)), depth)
    }

    fn chain(&mut self) -> Result<Node, Fault> {
        let at = self.at();
        let (base, mut depth) = match self.word().clone() {
            Word::Int(n) => return self.literal(Number::Int(n)),
            Word::Float(x) => return self.literal(Number::Float(x)),
            Word::Name(name) => match name.as_str() {
                "true" | "True" => return self.literal(Number::Bool(true)),
                "false" | "False" => return self.literal(Number::Bool(false)),
                "and" | "or" | "not" => return Err(self.no_value()),
                _ => {
                    self.advance();
                    (Base::Name(name), 1)
                }
            },
            Word::Quoted(name) => {
                self.advance();
                (Base::Quoted(name), 1)
            }
            Word::Mark("(") => {
                self.advance();
                let inner = self.group(at)?;
                let depth = inner.depth + 1;
                (Base::Group(Box::new(inner)), depth)
            }
            Word::Mark("[") => {
                self.advance();
                let row = self.row(at, "]")?;
                let depth = row.depth + 1;
                (Base::Group(Box::new(row)), depth)
            }
            _ => return Err(self.no_value()),
        };
        let mut posts = Vec::new();
        while let Some(post) = self.post(&mut depth)? {
            posts.push(post);
        }
        match (base, posts.is_empty()) {
            (Base::Group(inner), true) => Ok(*inner),
            (base, _) => Parser::node(at, Kind::Chain(base, posts), depth),
        }
    }

    fn no_value(&self) -> Fault {
        let remedy = match self.word() {
            Word::Mark("!") => "write `not`",
            Word::Mark("{") => "braces stand around expressions in texts of log points only",
            _ => "write a name, a number, a call or something in brackets",
        };
        let error = Error::parse(format!("expected a value, found {}", self.found()));
        Fault::new(self.at(), error.remedy(remedy))
    }

    fn literal(&mut self, number: Number) -> Result<Node, Fault> {
        let at = self.at();
        self.advance();
        Parser::node(at, Kind::Number(number), 1)
    }

    /// What is behind an opened bracket: one expression, or several with commas, which are a row.
    fn group(&mut self, opened: usize) -> Result<Node, Fault> {
        if self.mark(")") {
            return Parser::node(opened, Kind::Row(Vec::new()), 1);
        }
        let first = self.expression(0)?;
        if self.mark(",") {
            return self.row_after(vec![first], opened, ")");
        }
        self.expect(")", opened)?;
        Ok(first)
    }

    fn row(&mut self, opened: usize, close: &str) -> Result<Node, Fault> {
        self.row_after(Vec::new(), opened, close)
    }

    fn row_after(&mut self, mut nodes: Vec<Node>, at: usize, close: &str) -> Result<Node, Fault> {
        while !self.mark(close) {
            nodes.push(self.expression(0)?);
            if !self.mark(",") {
                self.expect(close, at)?;
                break;
            }
        }
        let depth = nodes.iter().map(|node| node.depth).max().unwrap_or(0) + 1;
        Parser::node(at, Kind::Row(nodes), depth)
    }

    fn post(&mut self, depth: &mut usize) -> Result<Option<Post>, Fault> {
        let at = self.at();
        let mut deepen = |node: &Node| *depth = (*depth).max(node.depth + 1);
        let kind = if self.mark(".") {
            let Word::Name(name) = self.word().clone() else {
                let error = Error::parse(format!("expected a name, found {}", self.found()))
                    .remedy("write the name of a part or a method behind the dot");
                return Err(Fault::new(self.at(), error));
            };
            let at = self.at();
            self.advance();
            return Ok(Some(Post { at, kind: PostKind::Attribute(name) }));
        } else if self.mark("(") {
            let arguments = self.arguments(at)?;
            arguments.iter().for_each(|argument| deepen(&argument.value));
            PostKind::Call(arguments)
        } else if self.mark("[") {
            let parts = self.parts(at)?;
            for part in &parts {
                match part {
                    Part::At(node) => deepen(node),
                    Part::Slice(a, b, c) => [a, b, c].into_iter().flatten().for_each(&mut deepen),
                    Part::Ellipsis | Part::NewAxis => {}
                }
            }
            PostKind::Index(parts)
        } else {
            return Ok(None);
        };
        Ok(Some(Post { at, kind }))
    }

    fn arguments(&mut self, opened: usize) -> Result<Vec<Argument>, Fault> {
        let mut arguments: Vec<Argument> = Vec::new();
        while !self.mark(")") {
            let next = &self.tokens[(self.position + 1).min(self.tokens.len() - 1)].word;
            let name = match (self.word().clone(), next) {
                (Word::Name(name), Word::Mark("=")) => {
                    self.advance();
                    self.advance();
                    Some(name)
                }
                _ => None,
            };
            let at = self.at();
            let value = self.expression(0)?;
            if name.is_none() && arguments.iter().any(|argument| argument.name.is_some()) {
                let error = Error::parse("an argument without a name comes behind one with a name");
                return Err(Fault::new(at, error.remedy("write it first, or name it")));
            }
            arguments.push(Argument { name, value });
            if !self.mark(",") {
                self.expect(")", opened)?;
                break;
            }
        }
        Ok(arguments)
    }

    pub fn parts(&mut self, opened: usize) -> Result<Vec<Part>, Fault> {
        let mut parts = Vec::new();
        while !self.mark("]") {
            parts.push(self.part()?);
            if !self.mark(",") {
                self.expect("]", opened)?;
                break;
            }
        }
        if parts.is_empty() {
            let error = Error::parse("there is no index between the brackets");
            return Err(Fault::new(opened, error.remedy("write `x[0]`, `x[1:3]` or `x[:, -1]`")));
        }
        Ok(parts)
    }

    fn part(&mut self) -> Result<Part, Fault> {
        if self.mark("...") {
            return Ok(Part::Ellipsis);
        }
        if self.is_keyword("None") || self.is_keyword("newaxis") {
            self.advance();
            return Ok(Part::NewAxis);
        }
        let start = self.bound()?;
        if !self.mark(":") {
            return match start {
                Some(node) => Ok(Part::At(node)),
                None => Err(self.no_value()),
            };
        }
        let stop = self.bound()?;
        let step = if self.mark(":") { self.bound()? } else { None };
        Ok(Part::Slice(start, stop, step))
    }

    fn bound(&mut self) -> Result<Option<Node>, Fault> {
        match self.word() {
            Word::Mark(":" | "]" | ",") => Ok(None),
            _ => self.expression(0).map(Some),
        }
    }
}

#[derive(Clone, Copy)]
enum Operator {
    And,
    Or,
    Binary(Binary),
}

fn too_deep(at: usize) -> Fault {
    let error = Error::parse("the expression is nested too deeply");
    Fault::new(at, error.remedy(format!("nest at most {DEEPEST} brackets, signs and operators")))
}
