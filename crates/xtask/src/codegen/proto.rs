//! The messages of protobuf files: our own programs, and the models of others.

use prost_build::Module;
use protox::Compiler;
use protox::file::{File, FileResolver};

use super::MARKER;
use crate::tree::Source;

/// A file of messages, its package, and the file of their Rust code.
const SCHEMAS: [[&str; 3]; 3] = [
    ["crates/core/proto/program.proto", "fluvial.v1", "crates/core/src/proto/generated.rs"],
    ["crates/bridge/proto/onnx.proto", "onnx", "crates/bridge/src/onnx/generated.rs"],
    ["crates/bridge/proto/fluid.proto", "fluid", "crates/bridge/src/fluid/generated.rs"],
];

/// The Rust code of all schemas that this tree has.
pub fn generate(tree: &[Source]) -> Result<Vec<Source>, String> {
    SCHEMAS.iter().map(|[from, package, to]| schema(tree, from, package, to)).collect()
}

fn schema(tree: &[Source], from: &str, package: &str, to: &str) -> Result<Source, String> {
    let source = tree.iter().find(|source| source.path == from);
    let source = source.ok_or_else(|| format!("{from}: not found"))?;
    let mut compiler = Compiler::with_file_resolver(OneFile(source.clone()));
    compiler.include_source_info(true).open_file(from).map_err(|error| format!("{error:?}"))?;

    let module = Module::from_protobuf_package_name(package);
    let requests = compiler.file_descriptor_set().file.into_iter();
    let requests = requests.map(|file| (module.clone(), file)).collect();
    let mut modules = prost_build::Config::new()
        .generate(requests)
        .map_err(|error| format!("{from}: {error}"))?;
    let code = modules.remove(&module).ok_or_else(|| format!("{from}: another package"))?;
    Ok(Source { path: to.to_string(), text: format!("// {MARKER}, from {from}\n\n{code}") })
}

/// Resolves the one file there is.
struct OneFile(Source);

impl FileResolver for OneFile {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match name == self.0.path {
            true => File::from_source(name, &self.0.text),
            false => Err(protox::Error::file_not_found(name)),
        }
    }
}
