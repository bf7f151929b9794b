//! What the tests of files share.
#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fluvial_data::formats::{Setting, Settings};
use fluvial_data::{Field, files};
use fluvial_tensor::Type;

/// A folder that programs may touch, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("fluvial-data-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        files::allow(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Fields from lines such as `x: f32[2]`.
pub fn fields(text: &[&str]) -> Vec<Field> {
    let field = |line: &&str| {
        let (name, ty) = line.split_once(": ").unwrap();
        Field { name: name.into(), ty: Type::parse(ty).unwrap() }
    };
    text.iter().map(field).collect()
}

pub fn shown(fields: &[Field]) -> Vec<String> {
    fields.iter().map(|field| format!("{}: {}", field.name, field.ty)).collect()
}

pub fn settings(all: &[(&str, Setting)]) -> Settings {
    all.iter().map(|(name, setting)| (Arc::from(*name), setting.clone())).collect()
}

pub fn texts(all: &[&str]) -> Setting {
    Setting::List(all.iter().map(|text| Setting::Text((*text).into())).collect())
}

pub fn shapes(all: &[&[i64]]) -> Setting {
    let shape = |sizes: &&[i64]| Setting::List(sizes.iter().map(|&n| Setting::Int(n)).collect());
    Setting::List(all.iter().map(shape).collect())
}

/// Numbers that look random, the same in every run.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}
