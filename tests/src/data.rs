//! Real blocks, generators and bundles, in the folder that `MOJOSCAN_TEST_DATA` names.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The folder; `None` where there is none.
pub fn folder() -> Option<PathBuf> {
    env::var_os("MOJOSCAN_TEST_DATA").map(PathBuf::from).filter(|folder| folder.is_dir())
}

/// Why there is no real data here.
pub fn missing() -> Option<String> {
    folder().is_none().then(|| "MOJOSCAN_TEST_DATA names no folder".to_owned())
}

/// The files of a folder with one of these extensions, in order of their names.
pub fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| extensions.iter().any(|e| found == *e)))
        .collect();
    files.sort();
    files
}

/// A generator with the generators it refers to.
pub struct Generator {
    /// The file's name without extension.
    pub name: String,
    /// The generator.
    pub program: Vec<u8>,
    /// What it refers to.
    pub references: Vec<Vec<u8>>,
}

/// Every generator of the data folder.
pub fn generators(folder: &Path) -> Vec<Generator> {
    files(&folder.join("generators"), &["txt", "generator"])
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let bytes = fs::read(&path).unwrap();
            let program = if path.extension().unwrap() == "txt" {
                let text = String::from_utf8(bytes).unwrap();
                hex::decode(text.split_once('\n').unwrap().0).unwrap()
            } else {
                bytes
            };
            let references = fs::read_to_string(path.with_extension("env"))
                .map(|text| vec![hex::decode(text.trim()).unwrap()])
                .unwrap_or_default();
            Generator { name, program, references }
        })
        .collect()
}
