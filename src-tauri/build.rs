//! Lets Tauri generate what it needs, and rebuilds the shell when the built front end changed.
fn main() {
    println!("cargo::rerun-if-changed=../dist");
    tauri_build::build();
}
