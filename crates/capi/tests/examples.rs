//! The examples in C and C++ are built against the library, and run; that for Node is run by `make test`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder that has the library: that of the test, or the one above.
fn folder_of_library() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let near = test.ancestors().skip(1).take(2);
    let found = near.map(Path::to_path_buf).find(|folder| folder.join("libfluvial_c.so").exists());
    found.expect("`libfluvial_c.so` is built with the test")
}

fn check(compiler: &str, standard: &str, source: &str) {
    let (root, library) = (Path::new(env!("CARGO_MANIFEST_DIR")), folder_of_library());
    let name = format!("fluvial-capi-{}-{compiler}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let program = folder.join("step");
    let built = Command::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .arg(root.join("include"))
        .arg(root.join("examples").join(source))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&library)
        .arg("-lfluvial_c")
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .output()
        .expect("there is a compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let run = Command::new(&program)
        .arg(root.join("../../programs/train.fl"))
        .arg(folder.join("states.safetensors"))
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&run.stdout), "loss 0.0000 w 1.00 3.00\n", "{said}");
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn in_c() {
    check("gcc", "-std=c11", "step.c");
}

#[test]
fn in_cpp() {
    check("g++", "-std=c++17", "step.cpp");
}
