//! Builds the one module: the engine for wasm32, then its JavaScript glue, by wasm-bindgen as a library, and its machine
//! code for the host, by Cranelift.
//!
//! What comes out, the module, its glue and `engine.js`, which names the module, is embedded in the host from `OUT_DIR`
//! and laid in `js/engine/`, from where the tests take it: the same bytes for all. `module.js` is the module as the npm
//! package has it: a part of the code, so that whatever bundles code has it too. The nested build has a target folder of
//! its own, since the outer one is locked by the cargo that runs this.

#![expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script everything by the environment"
)]

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use wasm_bindgen_cli_support::Bindgen;

#[path = "src/engine/settings.rs"]
mod settings;

/// The module with which tests find out what the host does when a module fails. They take its machine code from the target
/// folder of the nested build.
const MISBEHAVING: &str = "tests/support/misbehaving.wat";

const TARGET: &str = "wasm32-unknown-unknown";

fn main() -> Result<(), Box<dyn Error>> {
    let base = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let root = base
        .ancestors()
        .nth(2)
        .ok_or("the crate is at host/base in the workspace")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for input in [
        "engine/src",
        "engine/Cargo.toml",
        "Cargo.toml",
        "Cargo.lock",
        MISBEHAVING,
    ] {
        println!("cargo::rerun-if-changed={}", root.join(input).display());
    }

    let module = compile(root, &out)?;
    let glue = out.join("glue");
    Bindgen::new()
        .input_path(module)
        .out_name("tillgate")
        .web(true)?
        .typescript(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(&glue)?;

    let wasm = fs::read(glue.join("tillgate_bg.wasm"))?;
    let digest: String = Sha256::digest(&wasm)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    fs::write(out.join("tillgate.cwasm"), machine_code(&wasm)?)?;
    let misbehaving = wat::parse_file(root.join(MISBEHAVING))?;
    let misbehaving = machine_code(&misbehaving)?;
    fs::write(nested(&out)?.join("misbehaving.cwasm"), misbehaving)?;
    fs::write(glue.join("engine.js"), name(&digest)?)?;
    fs::write(glue.join("module.js"), as_code(&wasm)?)?;
    println!("cargo::rustc-env=ENGINE_SHA256={digest}");
    println!("cargo::rustc-env=ENGINE_DIR={}", glue.display());
    lay(&glue, &root.join("js/engine"))
}

/// A module as machine code of the host's target: for any processor of its architecture, not only for this machine's.
fn machine_code(wasm: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut settings = settings::settings();
    settings.target(&env::var("TARGET")?)?;
    Ok(wasmtime::Engine::new(&settings)?.precompile_module(wasm)?)
}

/// What the npm package says of the module that it holds.
fn name(digest: &str) -> Result<String, env::VarError> {
    let version = env::var("CARGO_PKG_VERSION")?;
    Ok(format!(
        "/** The module beside this file. Written by the build that made it. */\n\n\
         export const version = \"{version}\";\n\
         export const sha256 = \"{digest}\";\n"
    ))
}

/// The module as a text of JavaScript, compressed.
fn as_code(wasm: &[u8]) -> io::Result<String> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(wasm)?;
    let text = BASE64_STANDARD.encode(gzip.finish()?);
    Ok(format!(
        "/** The module beside this file, compressed by gzip, in base64. Written by the build that made it. */\n\n\
         export default \"{text}\";\n"
    ))
}

/// Builds the engine for wasm32 and answers where the raw module is.
fn compile(root: &Path, out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    add_target()?;
    let target = nested(out)?;
    let cargo = env::var("CARGO")?;
    let mut command = Command::new(cargo);
    command
        .current_dir(root)
        .args([
            "rustc",
            "--package",
            "tillgate-engine",
            "--lib",
            "--crate-type",
            "cdylib",
        ])
        .args(["--profile", "module", "--target", TARGET, "--quiet"])
        .arg("--target-dir")
        .arg(&target)
        .env("CARGO_ENCODED_RUSTFLAGS", flags(root)?);
    // The outer build's wrapper (clippy) and flags are not for the module: its bytes must not depend on them.
    for name in [
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_WRAPPER",
        "RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "CARGO_INCREMENTAL",
    ] {
        command.env_remove(name);
    }
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PROFILE_") {
            command.env_remove(name);
        }
    }
    if !command.status()?.success() {
        return Err("the engine did not build for wasm32".into());
    }
    Ok(target.join(TARGET).join("module/tillgate_engine.wasm"))
}

/// The target folder of the nested build: beside `target/debug` and `target/release`, whose build folders `OUT_DIR` is in.
fn nested(out: &Path) -> Result<PathBuf, &'static str> {
    let target = out
        .ancestors()
        .nth(4)
        .ok_or("OUT_DIR is deep in the target folder")?;
    Ok(target.join("module"))
}

/// The compiler's flags. Paths of this machine do not belong in the module: the same sources give the same bytes
/// elsewhere.
fn flags(root: &Path) -> Result<String, Box<dyn Error>> {
    let home = env::var("CARGO_HOME").or_else(|_| env::var("HOME").map(|home| home + "/.cargo"))?;
    let from = |path: &Path, to: &str| format!("--remap-path-prefix={}={to}", path.display());
    let mut flags = vec![from(root, "tillgate"), from(Path::new(&home), "cargo")];
    // The folder of a registry's sources has a name of its own on each machine. What is remapped last is tried first.
    for registry in fs::read_dir(Path::new(&home).join("registry/src"))
        .into_iter()
        .flatten()
    {
        flags.push(from(&registry?.path(), "."));
    }
    // Signatures are made once a delivery: small code serves them better than unrolled rounds.
    flags.push("--cfg=sha2_backend_soft=\"compact\"".to_owned());
    // Speed for what a decision runs through, and not a copy of every small function and loop everywhere else, those of the
    // standard library marked `#[inline]` included. What a decision needs in place says `#[inline(always)]`.
    for llvm in [
        "inline-threshold=50",
        "inlinehint-threshold=50",
        "unroll-full-max-count=0",
        "unroll-runtime=false",
    ] {
        flags.push(format!("-Cllvm-args=-{llvm}"));
    }
    Ok(flags.join("\u{1f}"))
}

/// `rust-toolchain.toml` names the target; where rustup does not install it by itself, this does.
fn add_target() -> Result<(), Box<dyn Error>> {
    let sysroot = Command::new(env::var("RUSTC")?)
        .args(["--print", "sysroot"])
        .output()?
        .stdout;
    let sysroot = PathBuf::from(String::from_utf8(sysroot)?.trim());
    if sysroot
        .join("lib/rustlib")
        .join(TARGET)
        .join("lib")
        .is_dir()
    {
        return Ok(());
    }
    match Command::new("rustup")
        .args(["target", "add", TARGET])
        .status()
    {
        Ok(status) if status.success() => Ok(()),
        _ => {
            Err(format!("the target {TARGET} is missing: run `rustup target add {TARGET}`").into())
        }
    }
}

/// Copies what changed, so that nothing that depends on it is built again for nothing.
fn lay(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (new, place) = (fs::read(entry.path())?, to.join(entry.file_name()));
        if fs::read(&place).ok().as_ref() != Some(&new) {
            fs::write(place, new)?;
        }
    }
    Ok(())
}
