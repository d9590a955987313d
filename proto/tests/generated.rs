//! The generated code is what the `.proto` files say. With `MOJOSCAN_GENERATE=1` it is written instead of compared.

use prost::Message as _;
use std::path::Path;
use std::{env, fs};

const FILES: [&str; 4] = [
    "mojoscan/common/v1/chain.proto",
    "mojoscan/coins/v1/coins.proto",
    "mojoscan/blocks/v1/blocks.proto",
    "mojoscan/address/v1/address.proto",
];

#[test]
fn generated_code_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let generated = root.join("src/generated");
    let fresh = tempfile::tempdir().unwrap();
    let descriptors = protox::compile(FILES.map(|file| root.join(file)), [root]).unwrap();
    fs::write(fresh.path().join("descriptors.bin"), descriptors.encode_to_vec()).unwrap();
    tonic_prost_build::configure()
        .out_dir(fresh.path())
        .build_transport(false)
        .compile_fds(descriptors)
        .unwrap();
    let write = env::var_os("MOJOSCAN_GENERATE").is_some();
    for entry in fs::read_dir(fresh.path()).unwrap() {
        let path = entry.unwrap().path();
        let target = generated.join(path.file_name().unwrap());
        let content = fs::read(&path).unwrap();
        if write {
            fs::write(&target, content).unwrap();
        } else {
            let committed = fs::read(&target).unwrap_or_default();
            assert!(committed == content, "{} is out of date: run `make generate`", target.display());
        }
    }
}
