// test_port.py and port.py, for pytest and NumPy.
#include "base/formatted.h"
#include "vectors/files/vector_files.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr std::string_view kPytestPort =
    R"PY("""The port under test: fill in the functions below, then run pytest in this folder.

@title@
@facts@"""

# What the port stores its tensors in: "float32", "bfloat16" or "float16". The bounds of the test are that dtype's.
DTYPE = "float32"


def port_rotate(x, inputs):
    """x: float32 [tokens, heads, head_dim], exact in every dtype. Gives x rotated, of the same shape.

    inputs["positions"] has the tokens' positions. What is given back may be an array or a torch tensor.
    """
    raise NotImplementedError("port_rotate is not filled in: call your rotation in port.py")


def port_attend(q, k, v, inputs):
    """q, k, v before any rotation. Gives {"out": [tokens, heads, value_dim]}, and "scores" [heads, queries, keys] too
    where the port has them: what its softmax is made of, masked or not.

    inputs has all inputs of the layer by name: "positions", learned tables, masks (vectors.json lists them).
    """
    raise NotImplementedError("port_attend is not filled in: call your attention in port.py")
)PY";

constexpr std::string_view kPytestTest =
    R"PY("""Holds the port of port.py to the golden vectors of this folder. Run: pytest"""

@imports@import pathlib

import numpy as np
import port
import pytest

HERE = pathlib.Path(__file__).resolve().parent
@load@

INPUTS = {name: x for name, x in TENSORS.items() if name in INPUT_NAMES}
HIDDEN = 1000.0  # a score so far below all others is masked, whatever number stands for it


def as_array(x):
    if hasattr(x, "detach"):  # of torch, which has bfloat16 where NumPy has not
        x = x.detach().cpu().double().numpy()
    return np.asarray(x, dtype=np.float64)


def as_float32(x):
    return np.asarray(x, dtype=np.float32)


def hold(name, got, seen=None):
    expected = TENSORS[name]
    got = as_array(got)
    assert got.shape == expected.shape, f"{name}: shape {got.shape}, expected {expected.shape}"
    relative, absolute = BOUNDS[port.DTYPE][name]
    per_token = np.asarray(absolute).reshape((1, -1, 1) if name == "scores" else (-1, 1, 1))
    seen = np.ones(expected.shape, bool) if seen is None else seen
    bound = per_token + relative * np.abs(np.where(seen, expected, 0.0))
    with np.errstate(invalid="ignore"):
        over = np.where(seen, np.abs(got - np.where(seen, expected, 0.0)) / bound, 0.0)
    over = np.where(seen & ~np.isfinite(got), np.inf, over)
    worst = np.unravel_index(np.argmax(over), over.shape)
    where = ", ".join(str(int(i)) for i in worst)
    assert over[worst] <= 1.0, (
        f"{name}[{where}] is {got[worst]:.6g}, expected {expected[worst]:.6g} within {bound[worst]:.3g}; "
        f"{int((over > 1.0).sum())} of {over.size} elements are above the bound of {port.DTYPE}"
    )


def test_bounds_are_for_the_dtype():
    assert port.DTYPE in BOUNDS, f"port.DTYPE must be one of {sorted(BOUNDS)}"
@rotation@@attention@)PY";

constexpr std::string_view kPytestRotation = R"PY(

@pytest.mark.parametrize("name", ["q", "k"])
def test_rotation(name):
    hold(name + "_rotated", port.port_rotate(as_float32(TENSORS[name]), INPUTS))
)PY";

constexpr std::string_view kPytestAttention = R"PY(

def attended():
    return port.port_attend(*(as_float32(TENSORS[name]) for name in "qkv"), INPUTS)


def test_scores():
    made = attended()
    if "scores" not in made:
        pytest.skip("the port gives no scores")
    scores = as_array(made["scores"])
    assert scores.shape == TENSORS["scores"].shape, f"scores: shape {scores.shape}"
    seen = np.broadcast_to(TENSORS["mask"] != 0, scores.shape)
    hold("scores", scores, seen)
    masked = ~seen & (scores < TENSORS["scores"][seen].min() - HIDDEN)
    # Before its mask a port hides nothing; behind it, all that the layer hides.
    assert not masked.any() or masked[~seen].all(), "scores: some keys are masked, and others that the layer hides not"


def test_output():
    hold("out", attended()["out"])
)PY";

constexpr std::string_view kLoadNpy = R"PY(MANIFEST = json.loads((HERE / "vectors.json").read_text())
TENSORS = {name: np.load(HERE / of["file"]) for name, of in MANIFEST["tensors"].items()}
INPUT_NAMES = {name for name, of in MANIFEST["tensors"].items() if of["kind"] == "input"}
BOUNDS = {
    dtype: {name: (of["relative"], of["absolute"]) for name, of in bounds.items()}
    for dtype, bounds in MANIFEST["bounds"].items()
})PY";

constexpr std::string_view kLoadSafetensors = R"PY(MANIFEST = json.loads((HERE / "vectors.json").read_text())
TENSORS = load_file(HERE / "vectors.safetensors")
INPUT_NAMES = {name for name, of in MANIFEST["tensors"].items() if of["kind"] == "input"}
BOUNDS = {
    dtype: {name: (of["relative"], of["absolute"]) for name, of in bounds.items()}
    for dtype, bounds in MANIFEST["bounds"].items()
})PY";

constexpr std::string_view kLoadJson = R"PY(MANIFEST = json.loads((HERE / "vectors.json").read_text())


def tensor_of(of):
    values = [-np.inf if x is None else x for x in of["values"]]
    return np.array(values, dtype=np.int64 if of["dtype"] == "i64" else np.float64).reshape(of["shape"])


TENSORS = {name: tensor_of(of) for name, of in MANIFEST["tensors"].items()}
INPUT_NAMES = {name for name, of in MANIFEST["tensors"].items() if of["kind"] == "input"}
BOUNDS = {
    dtype: {name: (of["relative"], of["absolute"]) for name, of in bounds.items()}
    for dtype, bounds in MANIFEST["bounds"].items()
})PY";

constexpr std::string_view kLoadPython =
    R"PY(TENSORS = {name: np.array(values).reshape(shape) for name, (shape, values) in vectors.TENSORS.items()}
INPUT_NAMES = set(vectors.INPUTS)
BOUNDS = vectors.BOUNDS)PY";

std::string_view loading(VectorFormat format) {
  if (format == VectorFormat::safetensors) return kLoadSafetensors;
  if (format == VectorFormat::json) return kLoadJson;
  return format == VectorFormat::python ? kLoadPython : kLoadNpy;
}

}  // namespace

std::vector<VectorFile> pytest_files(const Vectors& vectors, VectorFormat format) {
  std::string load(loading(format));
  std::string imports = format == VectorFormat::python ? "" : "import json\n";
  std::string test =
      filled(kPytestTest, {{"imports", imports},
                           {"load", load},
                           {"rotation", std::string(vectors.find("q_rotated") != nullptr ? kPytestRotation : "")},
                           {"attention", std::string(vectors.find("out") != nullptr ? kPytestAttention : "")}});
  const auto import = [&](std::string_view behind, std::string_view line) {
    test.insert(test.find(behind) + behind.size(), line);
  };
  if (format == VectorFormat::safetensors) import("import pytest\n", "from safetensors.numpy import load_file\n");
  if (format == VectorFormat::python) import("import pytest\n", "import vectors\n");
  return {{"port.py", filled(kPytestPort, {{"title", in_docstring(title(vectors))},
                                           {"facts", in_docstring(fact_lines(vectors, ""))}})},
          {"test_port.py", std::move(test)}};
}

}  // namespace posenc::inline v0_2::golden
