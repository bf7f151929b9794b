//! The header of the C interface, from the functions of `crates/capi`.

use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};

use super::MARKER;
use crate::tree::{self, Source};

const HEAD: &str = "
 *
 * The C interface of Fluvial: programs are loaded, fed and run; states are read, set and kept in files.
 *
 * Every function may be called from any thread; a program that several threads use is used by one after the other.
 * Functions that give an int32_t give 0 if all went well, unless they count. fluvial_error() says in words what went
 * wrong. */";

/// `crates/capi/include/fluvial.h`.
pub fn generate() -> Result<Vec<Source>, String> {
    let mut config = Config {
        language: Language::C,
        header: Some(format!("/* {MARKER}{HEAD}")),
        include_guard: Some("FLUVIAL_H".into()),
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        cpp_compat: true,
        usize_is_size_t: true,
        style: Style::Both,
        documentation_style: DocumentationStyle::C99,
        ..Config::default()
    };
    let names = [("Model", "fluvial_program"), ("View", "fluvial_view")];
    config.export.rename = names.map(|(ours, theirs)| (ours.into(), theirs.into())).into();
    // It finds the other modules from here.
    let builder =
        Builder::new().with_config(config).with_src(tree::root().join("crates/capi/src/lib.rs"));
    let mut text = Vec::new();
    builder.generate().map_err(|error| format!("crates/capi: {error}"))?.write(&mut text);
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    Ok(vec![Source { path: "crates/capi/include/fluvial.h".into(), text }])
}
