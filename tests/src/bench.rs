//! Figures of benchmarks: printed one a line, and kept in `target/bench.json`.
//!
//! The file is a list of `{name, value, unit, ratio, against}`. A name begins with its bench's, and a bench that runs
//! again replaces its own figures only.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

/// One figure.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Figure {
    /// What was measured: `bench/what`.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: String,
    /// The value, or what it took, as a share of what it is held against.
    pub ratio: Option<f64>,
    /// What it is held against: measured in the same run, in turns.
    pub against: Option<String>,
}

/// The figures of one bench.
pub struct Bench {
    name: &'static str,
    figures: Vec<Figure>,
}

impl Bench {
    /// Begins a bench of this name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, figures: vec![] }
    }

    /// A figure that stands for itself.
    pub fn figure(&mut self, what: &str, value: f64, unit: &str) {
        self.add(what, value, unit, None);
    }

    /// A figure held against another.
    pub fn ratio(&mut self, what: &str, value: f64, unit: &str, ratio: f64, against: &str) {
        self.add(what, value, unit, Some((ratio, against)));
    }

    /// Says that something was left out, and why.
    pub fn skipped(&self, what: &str, why: &str) {
        println!("{}/{what}: skipped: {why}", self.name);
    }

    fn add(&mut self, what: &str, value: f64, unit: &str, against: Option<(f64, &str)>) {
        let name = format!("{}/{what}", self.name);
        let held = against.map(|(ratio, against)| format!(", {ratio:.3} of {against}")).unwrap_or_default();
        println!("{name}: {} {unit}{held}", readable(value));
        self.figures.push(Figure {
            name,
            value,
            unit: unit.to_owned(),
            ratio: against.map(|(ratio, _)| ratio),
            against: against.map(|(_, against)| against.to_owned()),
        });
    }
}

/// Keeps the figures; a bench that failed half-way has none worth keeping.
impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let file = target().join("bench.json");
            let own = format!("{}/", self.name);
            let kept =
                fs::read(&file).map(|bytes| serde_json::from_slice(&bytes).unwrap()).unwrap_or_default();
            let mut all: Vec<Figure> = kept;
            all.retain(|figure| !figure.name.starts_with(&own));
            all.append(&mut self.figures);
            let temporary = file.with_extension("json.new");
            fs::write(&temporary, serde_json::to_vec_pretty(&all).unwrap()).unwrap();
            fs::rename(temporary, file).unwrap();
        }
    }
}

/// The folder of everything that is built.
fn target() -> PathBuf {
    let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    env::var_os("CARGO_TARGET_DIR").map_or_else(ours, PathBuf::from)
}

/// A file that takes long to make, kept among what is built: made by `make` at the path it is given, unless it is
/// there. Its name says which version of the recipe made it.
pub fn cached(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let folder = target().join("bench");
    let file = folder.join(name);
    if !file.exists() {
        fs::create_dir_all(&folder).unwrap();
        let unfinished = folder.join(format!("{name}.unfinished"));
        drop(fs::remove_file(&unfinished));
        make(&unfinished);
        fs::rename(unfinished, &file).unwrap();
    }
    file
}

/// The shortest times of two pieces of work of this thread, done in turns so that both meet the same machine. Counted
/// is the time on the processor: others may be using the machine. The first turn warms up.
pub fn shortest(rounds: usize, mut a: impl FnMut(), mut b: impl FnMut()) -> (Duration, Duration) {
    let mut best = (Duration::MAX, Duration::MAX);
    for round in 0..=rounds {
        let (took_a, took_b) = (worked(&mut a), worked(&mut b));
        if round > 0 {
            best = (best.0.min(took_a), best.1.min(took_b));
        }
    }
    best
}

fn worked(work: impl FnOnce()) -> Duration {
    let before = on_processor();
    work();
    on_processor() - before
}

/// How long this thread was on a processor.
fn on_processor() -> Duration {
    // the kernel adds up when the thread lets go of the processor
    std::thread::yield_now();
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

/// How long this process, all threads together, was on processors; to a hundredth of a second.
pub fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap();
    // the name of the program, which may hold anything, ends with the last parenthesis
    let fields = text.rsplit_once(')').unwrap().1.split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// The median of some times.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn readable(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}
