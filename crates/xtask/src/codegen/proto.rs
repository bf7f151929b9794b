//! The messages of the binary form of programs, from `program.proto`.

use prost_build::Module;
use protox::Compiler;
use protox::file::{File, FileResolver};

use super::MARKER;
use crate::tree::Source;

const FROM: &str = "crates/core/proto/program.proto";
const TO: &str = "crates/core/src/proto/generated.rs";

/// The Rust code of `program.proto`.
pub fn generate(tree: &[Source]) -> Result<Source, String> {
    let source = tree.iter().find(|source| source.path == FROM);
    let source = source.ok_or_else(|| format!("{FROM}: not found"))?;
    let mut compiler = Compiler::with_file_resolver(OneFile(source.clone()));
    compiler.include_source_info(true).open_file(FROM).map_err(|error| format!("{error:?}"))?;

    let module = Module::from_protobuf_package_name("fluvial.v1");
    let requests = compiler.file_descriptor_set().file.into_iter();
    let requests = requests.map(|file| (module.clone(), file)).collect();
    let mut modules = prost_build::Config::new()
        .generate(requests)
        .map_err(|error| format!("{FROM}: {error}"))?;
    let code = modules.remove(&module).ok_or_else(|| format!("{FROM}: another package"))?;
    Ok(Source { path: TO.to_string(), text: format!("// {MARKER}, from {FROM}\n\n{code}") })
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
