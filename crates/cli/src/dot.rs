//! The graph of a program in the language of Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write;

use fluvial::core::structural::{Assign, Read};
use fluvial::core::{Block, Call, OpRef, Program, Type, ValueId};
use fluvial_view::attributes;

/// Draws the main block: boxes are calls, arrows are values with their types, blocks of loops and branches are
/// frames. States are cylinders, so that one sees what reads and assigns them.
pub fn graph(program: &Program) -> String {
    let mut graph = Graph::default();
    graph.line("digraph program {");
    graph.line("  node [shape=box, fontname=\"Helvetica\"];");
    graph.line("  edge [fontname=\"Helvetica\", fontsize=10];");
    let mut sources = BTreeMap::new();
    for (id, name) in (0..).zip(&program.inputs) {
        let node = graph.node(name, ", shape=ellipse");
        sources.insert(id, node);
    }
    graph.block(&program.main, &mut sources, 1);
    for (&id, name) in program.main.results.iter().zip(&program.outputs) {
        let node = graph.node(name, ", shape=ellipse, style=bold");
        graph.edge(&sources, &program.main, id, &node);
    }
    graph.line("}");
    graph.text
}

#[derive(Default)]
struct Graph {
    text: String,
    n_nodes: usize,
    /// The nodes of states by name.
    states: BTreeMap<String, String>,
}

impl Graph {
    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    /// Adds a node, and returns its name.
    fn node(&mut self, label: &str, style: &str) -> String {
        let name = format!("n{}", self.n_nodes);
        self.n_nodes += 1;
        self.line(&format!("  {name} [label={}{style}];", quoted(label)));
        name
    }

    fn state(&mut self, name: &str) -> String {
        if let Some(node) = self.states.get(name) {
            return node.clone();
        }
        let node = self.node(&format!("@{name}"), ", shape=cylinder");
        self.states.insert(name.to_string(), node.clone());
        node
    }

    fn edge(&mut self, sources: &BTreeMap<ValueId, String>, block: &Block, id: ValueId, to: &str) {
        let Some(from) = sources.get(&id) else { return };
        let ty = block.types.get(id as usize).map(Type::to_string).unwrap_or_default();
        self.line(&format!("  {from} -> {to} [label={}];", quoted(&ty)));
    }

    /// Draws the calls of a block. `sources` has the nodes of its values, at first of its parameters.
    fn block(&mut self, block: &Block, sources: &mut BTreeMap<ValueId, String>, depth: usize) {
        for call in &block.calls {
            if let Some(read) = call.op.downcast::<Read>() {
                let node = self.state(&read.state);
                sources.insert(call.first_output, node);
                continue;
            }
            if let (Some(assign), &[value]) = (call.op.downcast::<Assign>(), &*call.inputs) {
                let node = self.state(&assign.state);
                self.edge(sources, block, value, &node);
                continue;
            }
            let node = self.node(&label(&call.op), "");
            for &input in &call.inputs {
                self.edge(sources, block, input, &node);
            }
            self.inner(call, &node, depth);
            for output in call.outputs() {
                sources.insert(output, node.clone());
            }
        }
    }

    /// Draws the blocks that a call owns, each in a frame.
    fn inner(&mut self, call: &Call, node: &str, depth: usize) {
        for (i, inner) in call.op.blocks().iter().enumerate() {
            let frame = self.n_nodes;
            self.line(&format!("  subgraph cluster_{frame} {{"));
            self.line(&format!("  label={};", quoted(&format!("{} {i}", call.op.name()))));
            let entry = self.node("enter", ", shape=point");
            let mut sources: BTreeMap<ValueId, String> =
                (0..inner.n_params as ValueId).map(|id| (id, entry.clone())).collect();
            self.block(inner, &mut sources, depth + 1);
            let exit = self.node("leave", ", shape=point");
            for &id in &inner.results {
                self.edge(&sources, inner, id, &exit);
            }
            self.line("  }");
            self.line(&format!("  {node} -> {entry} [style=dashed];"));
        }
    }
}

/// The name of an op and its short attributes.
fn label(op: &OpRef) -> String {
    let mut label = op.name().to_string();
    for (name, value) in attributes(op) {
        // Writing to a string does not fail.
        let _ = write!(label, "\n{name}={value}");
    }
    label
}

/// A text in quotes, as Graphviz reads it.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_string();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted += "\\n",
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
