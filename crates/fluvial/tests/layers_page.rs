//! The page on adding a layer shows the code as it is.

use std::fs;
use std::path::Path;

#[test]
fn the_page_on_layers_quotes_the_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/ADD_A_LAYER.md")).expect("the page");
    let mut n_blocks = 0;
    for block in page.split("```rust,ignore\n// ").skip(1) {
        let (path, rest) = block.split_once('\n').expect("the name of a file");
        let code = rest.split_once("\n```\n").expect("the end of the code").0;
        let file = fs::read_to_string(root.join(path)).expect(path);
        assert!(file.contains(code), "{path} does not have\n{code}");
        n_blocks += 1;
    }
    assert_eq!(n_blocks, 2);
}
