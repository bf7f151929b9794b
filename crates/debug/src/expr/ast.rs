//! Expressions as data.

use super::item::Number;

/// A part of an expression, and where it is.
#[derive(Clone, Debug)]
pub struct Node {
    pub at: usize,
    /// How many nodes are below one another here.
    pub depth: usize,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Number(Number),
    Row(Vec<Node>),
    Chain(Base, Vec<Post>),
    Unary(Unary, Box<Node>),
    Binary(Binary, Box<Node>, Box<Node>),
    Compare(Box<Node>, Vec<(Binary, Node)>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Not(Box<Node>),
}

/// What a chain of dots, brackets and calls begins with.
#[derive(Clone, Debug)]
pub enum Base {
    Name(String),
    Quoted(String),
    Group(Box<Node>),
}

/// A link of a chain, and where it is.
#[derive(Clone, Debug)]
pub struct Post {
    pub at: usize,
    pub kind: PostKind,
}

#[derive(Clone, Debug)]
pub enum PostKind {
    Attribute(String),
    Call(Vec<Argument>),
    Index(Vec<Part>),
}

#[derive(Clone, Debug)]
pub struct Argument {
    pub name: Option<String>,
    pub value: Node,
}

/// What stands for one axis between brackets.
#[derive(Clone, Debug)]
pub enum Part {
    At(Node),
    Slice(Option<Node>, Option<Node>, Option<Node>),
    Ellipsis,
    NewAxis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Negative,
    Positive,
    Invert,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Remainder,
    Pow,
    Matmul,
    BitAnd,
    BitOr,
    BitXor,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Binary {
    /// Whether it says yes or no.
    pub fn compares(self) -> bool {
        use Binary::*;
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }
}

impl Base {
    /// The name, if it is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Base::Name(name) | Base::Quoted(name) => Some(name),
            Base::Group(_) => None,
        }
    }
}

/// The names of the attributes that a chain begins with.
pub fn attributes(posts: &[Post]) -> impl Iterator<Item = &str> {
    posts.iter().map_while(|post| match &post.kind {
        PostKind::Attribute(name) => Some(name.as_str()),
        _ => None,
    })
}

/// A name and so many attributes with dots between.
pub fn dotted(name: &str, posts: &[Post], n: usize) -> String {
    let parts: Vec<&str> = std::iter::once(name).chain(attributes(posts).take(n)).collect();
    parts.join(".")
}

impl Node {
    /// The names that occur, with all that is behind dots.
    pub fn names(&self, out: &mut Vec<String>) {
        match &self.kind {
            Kind::Number(_) => {}
            Kind::Row(nodes) => nodes.iter().for_each(|node| node.names(out)),
            Kind::Unary(_, a) | Kind::Not(a) => a.names(out),
            Kind::Binary(_, a, b) | Kind::And(a, b) | Kind::Or(a, b) => {
                a.names(out);
                b.names(out);
            }
            Kind::Compare(first, others) => {
                first.names(out);
                others.iter().for_each(|(_, node)| node.names(out));
            }
            Kind::Chain(base, posts) => {
                let is_function =
                    matches!(posts.first(), Some(Post { kind: PostKind::Call(_), .. }));
                match base {
                    Base::Group(node) => node.names(out),
                    Base::Name(_) if is_function => {}
                    Base::Name(name) | Base::Quoted(name) => {
                        out.push(dotted(name, posts, attributes(posts).count()));
                    }
                }
                for post in posts {
                    match &post.kind {
                        PostKind::Attribute(_) => {}
                        PostKind::Call(arguments) => {
                            arguments.iter().for_each(|argument| argument.value.names(out));
                        }
                        PostKind::Index(parts) => parts.iter().for_each(|part| part.names(out)),
                    }
                }
            }
        }
    }
}

impl Part {
    fn names(&self, out: &mut Vec<String>) {
        match self {
            Part::At(node) => node.names(out),
            Part::Slice(a, b, c) => {
                [a, b, c].into_iter().flatten().for_each(|node| node.names(out));
            }
            Part::Ellipsis | Part::NewAxis => {}
        }
    }
}
