// Cargo.toml, port.rs and the test that calls it: cargo test, without any dependency.
#include "base/formatted.h"
#include "vectors/files/vector_files.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr std::string_view kCargoManifest = R"([package]
name = "port-under-test"
version = "0.0.0"
edition = "2021"
publish = false

[lib]
name = "vectors"
path = "vectors.rs"

[[test]]
name = "port"
path = "test_port.rs"
)";

constexpr std::string_view kRustPort = R"(//! The port under test: fill in both functions, then run cargo test.

use vectors::Tensor;

/// What the port stores its tensors in: "float32", "bfloat16" or "float16".
pub const DTYPE: &str = "float32";

/// Rotates x [tokens, heads, head_dim], which is exact in every dtype. `positions` are [tokens] or [axes, tokens].
pub fn port_rotate(_x: &[f32], _heads: usize, _positions: &Tensor) -> Result<Vec<f32>, String> {
    Err("port_rotate is not filled in: call your rotation in port.rs".to_string())
}

pub struct Attended {
    /// [heads, queries, keys], what the softmax is made of, masked or not; None where the port does not have them.
    pub scores: Option<Vec<f32>>,
    /// [tokens, heads, value_dim]
    pub out: Vec<f32>,
}

/// Attends with q, k, v before any rotation. Learned tables and masks of the layer are in vectors.rs.
pub fn port_attend(_q: &[f32], _k: &[f32], _v: &[f32], _positions: &Tensor) -> Result<Attended, String> {
    Err("port_attend is not filled in: call your attention in port.rs".to_string())
}
)";

constexpr std::string_view kRustTest = R"(//! Holds the port of port.rs to the golden vectors. Run: cargo test
#![allow(dead_code)]

mod port;

use vectors::{find, Tensor};

/// A score so far below all others is masked, whatever number stands for it.
const HIDDEN: f64 = 1000.0;

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.values.iter().map(|&x| x as f32).collect()
}

/// `token_axis`: 0, or 1 of scores; `mask` [tokens, inner]: 0 where nothing is held.
fn hold(name: &str, got: &[f32], token_axis: usize, mask: Option<&[f64]>) {
    let tensor = find(name).unwrap();
    let bound = tensor.bounds.iter().find(|bound| bound.dtype == port::DTYPE);
    let bound = bound.unwrap_or_else(|| panic!("port::DTYPE is {}, which has no bound", port::DTYPE));
    assert_eq!(got.len(), tensor.values.len(), "{name}: elements");
    let tokens = tensor.shape[token_axis];
    let inner: usize = tensor.shape[token_axis + 1..].iter().product();
    let mut above = 0;
    let mut worst = (0, -1.0);
    for (at, (&x, &expected)) in got.iter().zip(tensor.values).enumerate() {
        let token = at / inner % tokens;
        if mask.is_some_and(|mask| mask[token * inner + at % inner] == 0.0) {
            continue;
        }
        let allowed = bound.absolute[token] + bound.relative * expected.abs();
        let error = (f64::from(x) - expected).abs();
        let over = if error == 0.0 { 0.0 } else if error.is_finite() { error / allowed } else { f64::INFINITY };
        above += usize::from(over > 1.0);
        if over > worst.1 {
            worst = (at, over);
        }
    }
    let (at, over) = worst;
    assert!(
        above == 0,
        "{name}: token {}, element {} of it is {}, expected {}; {:.3} of its bound, {above} of {} above theirs",
        at / inner % tokens,
        at % inner,
        got[at],
        tensor.values[at],
        over,
        got.len()
    );
}
@rotation@@attention@)";

constexpr std::string_view kRustRotation = R"(
fn hold_rotation(name: &str) {
    let x = find(name).unwrap();
    let rotated = port::port_rotate(&floats(x), x.shape[1], find("positions").unwrap()).unwrap();
    hold(&format!("{name}_rotated"), &rotated, 0, None);
}

#[test]
fn rotates_queries() {
    hold_rotation("q");
}

#[test]
fn rotates_keys() {
    hold_rotation("k");
}
)";

constexpr std::string_view kRustAttention = R"(
#[test]
fn attends() {
    let [q, k, v] = ["q", "k", "v"].map(|name| floats(find(name).unwrap()));
    let made = port::port_attend(&q, &k, &v, find("positions").unwrap()).unwrap();
    if let Some(scores) = made.scores {
        let mask = find("mask").unwrap().values;
        hold("scores", &scores, 1, Some(mask));
        let expected = find("scores").unwrap().values;
        let lowest = expected.iter().copied().filter(|x| x.is_finite()).fold(f64::INFINITY, f64::min);
        let hidden: Vec<bool> = (0..scores.len())
            .filter(|at| mask[at % mask.len()] == 0.0)
            .map(|at| !(f64::from(scores[at]) >= lowest - HIDDEN))
            .collect();
        let masked = hidden.iter().filter(|&&is_masked| is_masked).count();
        assert!(
            masked == 0 || masked == hidden.len(),
            "some keys are masked, and others that the layer hides are not"
        );
    }
    hold("out", &made.out, 0, None);
}
)";

}  // namespace

std::vector<VectorFile> cargo_files(const Vectors& vectors) {
  const bool rotates = vectors.find("q_rotated") != nullptr;
  const bool attends = vectors.find("out") != nullptr;
  return {{"Cargo.toml", std::string(kCargoManifest)},
          {"port.rs", std::string(kRustPort)},
          {"test_port.rs", filled(kRustTest, {{"rotation", std::string(rotates ? kRustRotation : "")},
                                              {"attention", std::string(attends ? kRustAttention : "")}})}};
}

}  // namespace posenc::inline v0_2::golden
