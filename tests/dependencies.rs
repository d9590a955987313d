//! Who may stand on whom: dependencies point one way, and what only one place should know is known only there.
//!
//! Looks at what each crate of the workspace names in its manifest, and at the versions in the lock. What its own tests
//! need beside that is not looked at, except for versions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What a part of the workspace may stand on. A part is named by its folder; `projection` is a service that has no line
/// of its own. What has no line and is no service has no place.
const LAYERS: &[(&str, &[&str])] = &[
    ("proto", &[]),
    ("services/lib/domain", &[]),
    ("services/lib/chia", &["services/lib/domain"]),
    ("services/lib/pipeline", &["services/lib/domain"]),
    ("services/lib/engines", &["proto", "services/lib/domain", "services/lib/pipeline"]),
    ("services/lib/runtime", &[]),
    ("services/gateway", &["proto", "services/lib/domain", "services/lib/runtime"]),
    (
        "services/ingestor",
        &["services/lib/chia", "services/lib/domain", "services/lib/pipeline", "services/lib/runtime"],
    ),
    (
        "projection",
        &[
            "proto",
            "services/lib/domain",
            "services/lib/engines",
            "services/lib/pipeline",
            "services/lib/runtime",
        ],
    ),
];

/// The parts that put the others together, and may stand on all of them.
const WHOLE: [&str; 2] = ["services/mojoscan", "tests"];

/// What only some parts may use: crates by the beginning of their names, and those parts.
const CONFINED: &[(&[&str], &[&str])] = &[
    // CLVM and puzzles
    (
        &["chia-bls", "chia-consensus", "chia-puzzle", "chia-sdk", "clvm", "chia-wallet-sdk"],
        &["services/lib/chia"],
    ),
    // the wire of the node
    (&["chia-protocol", "chia-ssl", "chia-traits"], &["services/lib/chia", "services/ingestor"]),
    // engines
    (&["rdkafka"], &["services/lib/engines"]),
    (&["scylla", "fjall"], &["services/lib/engines", "projection"]),
    (&["rusqlite", "tokio-tungstenite"], &["services/ingestor"]),
    // the public edge
    (&["axum", "tower-http", "utoipa"], &["services/gateway", "services/lib/runtime"]),
];

/// What pure parts may never use.
const PURE: [&str; 3] = ["services/lib/chia", "services/lib/domain", "services/lib/pipeline"];
const IMPURE: [&str; 8] =
    ["async-std", "hyper", "mio", "prost", "reqwest", "tonic", "tokio-stream", "tokio-rustls"];
/// Features of tokio that reach out of the process.
const OUTSIDE: [&str; 6] = ["fs", "full", "io-std", "net", "process", "signal"];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    req: String,
    kind: Option<String>,
    path: Option<PathBuf>,
    features: Vec<String>,
}

impl Metadata {
    /// What cargo says of this workspace.
    fn read() -> Self {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
        let output = Command::new(env::var_os("CARGO").unwrap())
            .args(["metadata", "--format-version=1", "--no-deps", "--manifest-path", manifest])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The folder of a package, as the rules name it.
    fn part(&self, folder: &Path) -> String {
        folder.strip_prefix(&self.workspace_root).unwrap().to_str().unwrap().to_owned()
    }

    /// Each package with its part.
    fn parts(&self) -> impl Iterator<Item = (String, &Package)> {
        self.packages.iter().map(|package| (self.part(package.manifest_path.parent().unwrap()), package))
    }
}

impl Package {
    /// What its own code stands on.
    fn direct(&self) -> impl Iterator<Item = &Dependency> {
        self.dependencies.iter().filter(|dependency| dependency.kind.as_deref() != Some("dev"))
    }
}

/// The line of the rules that is for this part.
fn role(part: &str) -> &str {
    let named = LAYERS.iter().any(|(name, _)| *name == part) || WHOLE.contains(&part);
    let service = part.strip_prefix("services/").is_some_and(|rest| !rest.contains('/'));
    if !named && service { "projection" } else { part }
}

#[test]
fn dependencies_point_one_way() {
    let metadata = Metadata::read();
    for (part, package) in metadata.parts().filter(|(part, _)| !WHOLE.contains(&part.as_str())) {
        let rule = LAYERS.iter().find(|(name, _)| *name == role(&part));
        let (_, allowed) = rule.unwrap_or_else(|| panic!("{part} has no place among the layers"));
        for folder in package.direct().filter_map(|dependency| dependency.path.as_deref()) {
            let below = metadata.part(folder);
            assert!(allowed.contains(&below.as_str()), "{part} must not stand on {below}");
        }
    }
}

#[test]
fn what_one_place_should_know_is_known_only_there() {
    for (part, package) in Metadata::read().parts().filter(|(part, _)| part != "tests") {
        for dependency in package.direct() {
            for (confined, places) in CONFINED {
                let is_confined = confined.iter().any(|beginning| dependency.name.starts_with(beginning));
                let allowed = places.contains(&role(&part));
                assert!(!is_confined || allowed, "{part} must not use {}: {places:?} may", dependency.name);
            }
        }
    }
}

#[test]
fn pure_parts_reach_nothing_outside() {
    for (part, package) in Metadata::read().parts().filter(|(part, _)| PURE.contains(&part.as_str())) {
        for dependency in package.direct() {
            assert!(!IMPURE.contains(&dependency.name.as_str()), "{part} must not use {}", dependency.name);
            let outside = dependency.features.iter().find(|feature| OUTSIDE.contains(&feature.as_str()));
            if dependency.name == "tokio" {
                assert_eq!(outside, None, "{part} must not use this of tokio");
            }
        }
    }
}

#[test]
fn every_direct_dependency_has_one_version() {
    let metadata = Metadata::read();
    let mut asked: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for dependency in metadata.packages.iter().flat_map(|package| &package.dependencies) {
        if dependency.path.is_none() {
            asked.entry(&dependency.name).or_default().insert(&dependency.req);
        }
    }
    for (name, requirements) in &asked {
        assert_eq!(requirements.len(), 1, "{name} is asked for in several versions: {requirements:?}");
    }
    let ours: BTreeSet<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    for (name, versions) in locked(&metadata.workspace_root, &ours) {
        assert!(versions.len() <= 1, "{name} is used in several versions: {versions:?}");
    }
}

/// The versions in which our crates use others, by name. The lock names a version where there are several.
fn locked(root: &Path, ours: &BTreeSet<&str>) -> BTreeMap<String, BTreeSet<String>> {
    let lock: toml::Table = fs::read_to_string(root.join("Cargo.lock")).unwrap().parse().unwrap();
    let packages = lock["package"].as_array().unwrap().iter();
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages.filter(|package| ours.contains(package["name"].as_str().unwrap())) {
        for dependency in package.get("dependencies").and_then(toml::Value::as_array).into_iter().flatten() {
            if let Some((name, version)) = dependency.as_str().unwrap().split_once(' ') {
                used.entry(name.to_owned()).or_default().insert(version.to_owned());
            }
        }
    }
    used
}

#[test]
fn nothing_is_declared_that_nobody_uses() {
    let metadata = Metadata::read();
    let manifest = fs::read_to_string(metadata.workspace_root.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let declared = manifest["workspace"]["dependencies"].as_table().unwrap().keys();
    let used: BTreeSet<&str> = metadata
        .packages
        .iter()
        .flat_map(|package| &package.dependencies)
        .map(|dependency| dependency.name.as_str())
        .collect();
    let unused: Vec<&String> = declared.filter(|name| !used.contains(name.as_str())).collect();
    assert!(unused.is_empty(), "the workspace declares what no crate uses: {unused:?}");

    for package in &metadata.packages {
        let code = code(package.manifest_path.parent().unwrap());
        let names = package.dependencies.iter().map(|dependency| &dependency.name);
        let unused: Vec<&String> = names.filter(|name| !uses(&code, &name.replace('-', "_"))).collect();
        assert!(unused.is_empty(), "{} names what it does not use: {unused:?}", package.name);
    }
}

/// Whether code names a crate: as the beginning of a path, or whole.
fn uses(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let within = before.is_some_and(|before| before.is_alphanumeric() || before == '_');
        let behind = &code[at + name.len()..];
        !within && ["::", ";", " as "].iter().any(|end| behind.starts_with(end))
    })
}

#[test]
fn a_crate_is_used_where_it_is_named_whole() {
    for code in ["use fail::cfg;", "fail::fail_point!()", "use fail;", "::fail::x", "#[fail::test]"] {
        assert!(uses(code, "fail"), "{code}");
    }
    for code in ["fail_point!()", "use wont_fail::x", "// it may fail. So", "failed::x()"] {
        assert!(!uses(code, "fail"), "{code}");
    }
}

/// All code of a crate. Crates do not lie in each other's folders, except for the libraries below `services`.
fn code(folder: &Path) -> String {
    let mut code = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            code += &self::code(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code += &fs::read_to_string(&path).unwrap();
        }
    }
    code
}
