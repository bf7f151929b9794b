//! The pages on adding a layer and an optimizer show the code as it is.

use std::fs;
use std::path::Path;

fn quotes_the_files(page: &str, n_wanted: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join(page)).expect(page);
    let mut n_blocks = 0;
    for block in page.split("```rust,ignore\n// ").skip(1) {
        let (path, rest) = block.split_once('\n').expect("the name of a file");
        let code = rest.split_once("\n```\n").expect("the end of the code").0;
        let file = fs::read_to_string(root.join(path)).expect(path);
        assert!(file.contains(code), "{path} does not have\n{code}");
        n_blocks += 1;
    }
    assert_eq!(n_blocks, n_wanted);
}

#[test]
fn the_page_on_layers_quotes_the_files() {
    quotes_the_files("docs/ADD_A_LAYER.md", 3);
}

#[test]
fn the_page_on_optimizers_quotes_the_files() {
    quotes_the_files("docs/ADD_AN_OPTIMIZER.md", 1);
}
