//! The messages of the binary form follow from `program.proto`.

use xtask::{codegen::proto, tree};

#[test]
fn messages_are_fresh() {
    let tree = tree::read(&tree::root()).unwrap();
    for fresh in proto::generate(&tree).unwrap() {
        let kept = tree.iter().find(|source| source.path == fresh.path);
        assert!(kept == Some(&fresh), "{}: run cargo xtask codegen", fresh.path);
    }
}

#[test]
fn a_faulty_description_is_an_error() {
    let mut tree = tree::read(&tree::root()).unwrap();
    let is_description = |source: &&mut tree::Source| source.path.ends_with("program.proto");
    let description = tree.iter_mut().find(is_description).unwrap();
    description.text = description.text.replace("repeated Type types", "repeated Missing types");
    let error = proto::generate(&tree).unwrap_err();
    assert!(error.contains("Missing"), "{error}");
}
