"""Code that posenc.emit writes, run in its language and held against the float64 reference.

Each case is a layer whose schemes are others. NumPy computes in float64 and is held to that; the others round tensors
to float32, and their bound is what that rounding makes of scores and sums, to first order."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import posenc
import pytest

from emitting import emitted
from emitting.cases import CASES, LLAMA, LLAMA4, Case, changed

HALF_UNIT = 2.0**-24
# On both sides of edges of windows, chunks, buckets and trained lengths.
POSITIONS = np.array(
    [0, 1, 2, 3, 7, 8, 9, 31, 127, 128, 129, 511, 512, 513, 1023, 1024, 4095, 4096, 8191, 8192, 8193, 40000]
)
TEXT = ("numpy", "torch", "c", "cpp", "cuda", "metal")


class Run:
    """A case's inputs, in float32, and what the reference makes of them."""

    def __init__(self, case):
        self.case, self.layer = case, case.layer_plan()
        random = np.random.default_rng(7)
        layer = self.layer
        tokens = len(POSITIONS)

        def normal(*shape):
            return random.standard_normal(shape).astype(np.float32)

        self.q = normal(tokens, layer.heads, layer.head_dim)
        self.k = normal(tokens, layer.kv_heads, layer.head_dim)
        self.v = normal(tokens, layer.kv_heads, layer.value_dim)
        self.positions = POSITIONS
        self.rope = next((one.rope for one in layer.rotate if one.role == "main"), None)
        grid = next((one for one in layer.score if isinstance(one, posenc.GridBias)), None)
        if self.rope is not None and len(self.rope.axes.names) > 1:
            self.positions = np.stack([np.roll(POSITIONS, a) % (4000 + a) for a in range(len(self.rope.axes.names))])
        if grid is not None:
            self.positions = np.stack([np.arange(tokens) % grid.rows, np.arange(tokens) % grid.columns])
        self.inputs, self.weights = dict(case.inputs), []
        for term in layer.score:
            self.weights.append(self.table_of(term, normal))
        if layer.sinks:
            self.inputs["sinks"] = normal(layer.heads)
        given = {name: self.inputs[name] for name in ("sinks", "prefix") if name in self.inputs}
        if layer.mask.kind == "sparse":
            self.inputs["selected"] = np.tril(random.random((tokens, tokens)) < 0.5) | np.eye(tokens, dtype=bool)
            given["attn_mask"] = self.inputs["selected"]
        order = POSITIONS.astype(np.int64)
        self.inputs |= {
            "q_order": order,
            "k_order": order,
            "q_positions": self.positions,
            "k_positions": self.positions,
        }
        call = dict(
            score_weights=self.weights,
            q_positions=self.positions,
            k_positions=self.positions,
            q_order=order,
            k_order=order,
            length=case.length,
            **given,
        )
        self.out, self.content = posenc.reference.attend(layer, self.q, self.k, self.v, scores="content", **call)
        _, self.biased = posenc.reference.attend(layer, self.q, self.k, self.v, scores="biased", **call)
        _, self.softmax = posenc.reference.attend(layer, self.q, self.k, self.v, scores="weights", **call)
        if self.rope is not None:
            self.rotated = posenc.reference.rotate(self.rope, self.q, positions=self.positions, length=case.length)

    def table_of(self, term, normal):
        heads = self.layer.heads
        if isinstance(term, posenc.T5Bias):
            self.inputs["t5_table"] = normal(term.buckets, heads)
            return posenc.T5Weights(table=self.inputs["t5_table"])
        if isinstance(term, posenc.ClippedBias):
            self.inputs["distance_table"] = normal(term.past + term.future + 1, heads)
            return posenc.ClippedBiasWeights(table=self.inputs["distance_table"])
        if isinstance(term, posenc.GridBias):
            self.inputs["window_table"] = normal((2 * term.rows - 1) * (2 * term.columns - 1), heads)
            return posenc.GridBiasWeights(table=self.inputs["window_table"])
        if isinstance(term, posenc.Kerple):
            self.inputs["r1"], self.inputs["r2"] = abs(normal(heads)), np.minimum(abs(normal(heads)), 1.5)
            return posenc.KerpleWeights(r1=self.inputs["r1"], r2=self.inputs["r2"])
        return None

    def sizes(self):
        return emitted.Sizes(self.layer.heads, self.layer.value_dim, self.rope.dim // 2 if self.rope else 0)

    def rotation_bound(self, unit, angle):
        """Of each channel: two products and their sum, cos and sin that are rounded once, and what the angle adds."""
        pair = np.abs(self.q.astype(float)).max(axis=-1, keepdims=True) * 2
        factor = posenc.frequencies(self.rope, length=self.case.length).attention_factor
        return factor * pair * (4 * unit + angle)

    def attention_bound(self, unit, angle):
        """A sum of head_dim products of rotated numbers, the scale, the bias and the cap, each rounded; exp of scores
        that are off by that; and the sum over values, keys + 4 roundings, twice for the total and the quotient."""
        factor = 1.0 if self.rope is None else posenc.frequencies(self.rope, length=self.case.length).attention_factor
        group = self.layer.heads // self.layer.kv_heads
        k = np.repeat(self.k, group, axis=1).astype(float)
        v = np.repeat(self.v, group, axis=1).astype(float)
        length = np.einsum("ih,jh->hij", np.linalg.norm(self.q.astype(float), axis=-1), np.linalg.norm(k, axis=-1))
        tau = np.array([posenc.query_scale(self.layer.query_scale, int(p)) for p in np.atleast_2d(self.positions)[0]])
        scale = self.layer.softmax_scale * factor**2 * np.maximum(tau, 1.0)[None, :, None]
        seen = np.isfinite(self.biased)
        biased = np.where(seen, self.biased, 0.0)
        bias = np.where(seen, np.abs(biased - self.content), 0.0)
        size = np.abs(biased) + np.abs(self.content) + bias
        off = unit * (scale * (self.layer.head_dim + 16) * length + 8 * size) + 2 * angle * scale * length
        weighed = (self.softmax * off).sum(axis=-1, keepdims=True)
        spread = self.softmax * (off + weighed + (len(self.k) + 8) * 2 * unit)
        return 2 * np.einsum("hij,jhc->ihc", spread, np.abs(v)) + 1e-30

    def errors(self, port, exact=False):
        """The largest error over its bound, of the rotation and of the output."""
        unit, angle = (2.0**-53, 2.0**-50 * 40000) if exact else (HALF_UNIT, 0.0)
        if port.language == "metal":
            angle = 12 * HALF_UNIT  # pi is rounded, and half a turn of error in the last place of its fraction
        out, q, k, v = {}, self.q, self.k, self.v
        if exact:
            q, k, v = (x.astype(float) for x in (q, k, v))
        if self.rope is not None:
            table = port.cos_sin(self.positions, self.case.length)
            q, k = port.rotate(q, *table), port.rotate(k, *table)
            out["rotation"] = float((abs(q - self.rotated) / self.rotation_bound(unit, angle)).max())
            if isinstance(self.layer.value, posenc.RotatedValues):
                v = port.rotate(v, *table)
        made = port.attention(q, k, v, **self.inputs)
        if isinstance(self.layer.value, posenc.RotatedValues):
            made = port.rotate_back(made, *table)
        assert made.shape == self.out.shape
        single = exact and any(isinstance(one, posenc.T5Bias) for one in self.layer.score)
        error = abs(made - self.out) / self.attention_bound(HALF_UNIT if single else unit, angle)
        out["attention"] = float(np.where(np.isnan(error), np.inf, error).max())
        return out


RUNS = {}


def run_of(case):
    if case.name not in RUNS:
        RUNS[case.name] = Run(case)
    return RUNS[case.name]


def check(case, port, exact=False):
    errors = run_of(case).errors(port, exact)
    assert all(error <= 1 for error in errors.values()), f"{case.name}: {errors}"
    return errors


def by_name(case):
    return case.name


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_numpy(case):
    check(case, emitted.numpy_port(case.emit("numpy")), exact=True)


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_torch(case):
    code = case.emit("torch")
    check(case, emitted.torch_port(code, emitted.module(code)))


WITH_TABLES = [case for case in CASES if any(weights is not None for weights in run_of(case).weights)]


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("case", WITH_TABLES, ids=by_name)
def test_torch_takes_tables_of_any_dtype(case, dtype):
    """Scores are float32 whatever a table is: weights in float64 would not meet values in float32."""
    import torch

    code = case.emit("torch")
    made, run = emitted.module(code), run_of(case)
    q, k, v = (torch.from_numpy(x) for x in (run.q, run.k, run.v))
    if run.rope is not None:
        table = made.cos_sin(torch.from_numpy(run.positions))
        q, k = made.rotate(q, *table), made.rotate(k, *table)
    given = {"q": q, "k": k, "v": v} | {name: torch.from_numpy(np.asarray(of)) for name, of in run.inputs.items()}
    tables = [name for name in emitted.parameters(code, "attention") if name.endswith("table") or name in ("r1", "r2")]
    assert tables
    rounded = given | {name: given[name].to(getattr(torch, dtype)) for name in tables}
    expected = given | {name: rounded[name].float() for name in tables}
    out = [made.attention(*(of[name] for name in emitted.parameters(code, "attention"))) for of in (rounded, expected)]
    assert out[0].dtype == torch.float32 and torch.equal(*out)


PORTS = {"c": emitted.c_ports, "cpp": emitted.cpp_ports, "cuda": emitted.cuda_ports, "metal": emitted.metal_ports}


@pytest.mark.parametrize("language", PORTS)
def test_compiled(language, tmp_path):
    """Metal takes frequencies as numbers: of rules that depend on the length, those of the case's."""
    chosen, codes = [], []
    for case in CASES:
        depends = isinstance(
            getattr(run_of(case).rope, "scaling", None), (posenc.DynamicScaling, posenc.LongRopeScaling)
        )
        at = (
            case
            if language != "metal" or not depends
            else Case(case.name, case.plan.replace(length=case.length), case.layer, case.stack, case.cross, case.length)
        )
        codes.append(at.emit(language))
        chosen.append(case)
    ports = PORTS[language](codes, [run_of(case).sizes() for case in chosen], tmp_path)
    wrong = {}
    for case, port in zip(chosen, ports):
        errors = run_of(case).errors(port)
        if not all(error <= 1 for error in errors.values()):
            wrong[case.name] = errors
    assert not wrong


SMALL = [case for case in CASES if case.layer_plan().heads * case.layer_plan().head_dim <= 512]


# Its interpreter takes a second for a case.
INTERPRETED = {
    "falcon, alibi in bfloat16",
    "llama 4, chunks",
    "axes in turn",
    "cap before the bias",
    "prefix",
    "values rotated",
}


@pytest.mark.parametrize(
    "case", SMALL if os.environ.get("POSENC_EMIT_ALL") else [of for of in SMALL if of.name in INTERPRETED], ids=by_name
)
def test_triton(case, tmp_path):
    """Under Triton's interpreter, which needs no GPU."""
    os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel is defined
    if not emitted.with_triton():
        pytest.skip("Triton is not there")
    code = case.emit("triton")
    check(case, emitted.torch_port(code, emitted.triton_module(code, tmp_path)))


def test_nvcc(tmp_path):
    """What g++ takes through the shim, CUDA's own compiler takes too; it is not run here. One file of all cases."""
    compiler = emitted.nvcc()
    if compiler is None:
        pytest.skip("nvcc is not there")
    chosen = CASES if os.environ.get("POSENC_EMIT_ALL") else CASES[:4] + SMALL
    source = emitted.wrapped([case.emit("cuda") for case in chosen], lambda number, function: "", "#include <math.h>\n")
    (tmp_path / "all.cu").write_text(source)
    command = [compiler, "--device-c", "-std=c++17", "-Werror", "all-warnings", "all.cu", "-o", "all.o"]
    run = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


NUMBER = re.compile(r"^([A-Z_0-9]+) = (-?[0-9.]+(?:e[+-]?[0-9]+)?)(?=\s|$)", re.MULTILINE)


def constants_in_use(text):
    """NumPy takes the sizes of arrays from the arrays: what is read by code, and not by comments alone."""
    code = re.sub(r'"""[^"]*"""|#.*', "", text)
    return [of for of in NUMBER.finditer(text) if len(re.findall(rf"\b{of[1]}\b", code)) > 1]


def others(number):
    """A third more and a third less."""
    if "." in number or "e" in number:
        return f"{float(number) * 4 / 3 + 0.1:.6g}", f"{float(number) * 2 / 3 - 0.1:.6g}"
    return str(int(number) * 4 // 3 + 1), str(int(number) * 2 // 3 - 1)


@pytest.mark.parametrize("case", SMALL + CASES[:8], ids=by_name)
def test_a_spoiled_text_is_found(case):
    """The checks above can fail: each constant changed, one at a time. Either change must be found; of LongRoPE
    what the length does not choose cannot be, where it is far beyond the edge."""
    code = case.emit("numpy")
    unread = {"longrope, long": {"SHORT_MSCALE", "ORIGINAL_LENGTH"}}.get(case.name, set())
    missed = []
    for match in constants_in_use(code.text):
        if match[1] in unread or (match[1] == "GROUP" and match[2] == "1"):
            continue
        found = False
        for other in others(match[2]):
            text = code.text[: match.start(2)] + other + code.text[match.end(2) :]
            try:
                errors = run_of(case).errors(emitted.numpy_port(code, text), exact=True)
                found = found or any(error > 1 for error in errors.values())
            except (ValueError, IndexError, ZeroDivisionError):  # shapes that do not fit, a logarithm below 0
                found = True
        if not found:
            missed.append(match[0])
    assert not missed


def test_spoiled_code_of_c_is_found(tmp_path):
    """The same of what is compiled: one sign, one index, one bound."""
    case = next(of for of in CASES if of.name == "window both ways")
    code = case.emit("c")
    for number, (is_now, then) in enumerate(
        [
            ("a * s + b * c", "a * s - b * c"),
            ("h / GROUP", "h % KV_HEADS"),
            ("PAST = 3", "PAST = 4"),
            ("BASE = 10000.0", "BASE = 10010.0"),
            ("j - i <= FUTURE", "j - i < FUTURE"),
        ]
    ):
        assert is_now in code.text
        spoiled = code.replace(text=code.text.replace(is_now, then))
        folder = tmp_path / str(number)
        folder.mkdir()
        (port,) = emitted.c_ports([spoiled], [run_of(case).sizes()], folder)
        assert any(error > 1 for error in run_of(case).errors(port).values()), then


def test_every_preset_in_every_language():
    """Each kind of layer of each built-in model is written, or refused by name; and what is Python compiles."""
    refused = {}
    for preset in posenc.presets():
        plan = posenc.read_plan(preset)
        for stack in plan.stacks:
            for run in posenc.layer_runs(stack):
                layer = stack.layers[run.layers[0]]
                if layer.kind not in ("attention", "cross_attention"):
                    continue
                for language in (*TEXT, "triton"):
                    given = {"stack": stack.name, "layer": layer.index, "cross": layer.kind == "cross_attention"}
                    try:
                        code = posenc.emit(plan, language, **given)
                    except ValueError as error:
                        refused.setdefault((preset, stack.name), set()).add(str(error))
                        continue
                    assert code == posenc.emit(plan, language, **given)  # deterministic
                    assert code.text.isascii() and "\t" not in code.text and " \n" not in code.text
                    assert max(map(len, code.text.splitlines())) <= 100
                    if code.file_name.endswith(".py"):
                        compile(code.text, code.file_name, "exec")
    xlnet = {
        "[emit] layer must be one that can be written as code but is XLNet's scores, which cannot: products of "
        "queries with projected sinusoids are not written yet"
    }
    metal = {name for name, of in refused.items() if all("metal" in text for text in of)}
    assert {name: of for name, of in refused.items() if name not in metal} == {("xlnet-base", "encoder"): xlnet}
    scaled = {name for name, _ in metal}
    assert scaled == {"phi-3-mini-128k", "phi-3.5-mini", "phi-3.5-moe", "minicpm4-8b", "internlm3-8b"}


def test_texts_of_a_plan_stay_in_their_comments():
    """A plan can come from anywhere, and so can the words in it."""
    evil = 'x\n#error "out" \\\n*/ """ ??/\n'
    plan = posenc.read_plan(LLAMA)
    plan = plan.replace(
        model_type=evil,
        source=plan.source.replace(name=evil),
        sources=tuple(of.replace(from_=evil) for of in plan.sources),
        stacks=tuple(of.replace(name=evil) for of in plan.stacks),
    )
    for language in (*TEXT, "triton"):
        text = posenc.emit(plan, language, layer=0).text
        assert text.isascii() and "??" not in text and "\\" not in text and '#error "' not in text
        assert not any(line.startswith(("#error", "*/")) for line in text.splitlines())


def test_a_norm_behind_the_rotation_is_said():
    """Llama 4's: there is no function that does all, since the norm stands between two."""
    plan = posenc.read_plan({**LLAMA4, "use_qk_norm": True})
    code = posenc.emit(plan, "numpy", layer=0)
    assert [of.name for of in code.functions] == ["cos_sin", "rotate", "attention"]
    assert code.beside[0].startswith("between rotate and attention, q and k are normalised (rms norm over a head")
    assert "def layer(" not in code.text and not code.port


def test_what_is_refused():
    plan = posenc.read_plan("gemma-3-4b")
    with pytest.raises(ValueError, match=r"layer must be given, since layers of decoder differ \(0-4, 6-10"):
        posenc.emit(plan)
    with pytest.raises(ValueError, match="layer must be one of decoder with attention but is 99"):
        posenc.emit(plan, layer=99)
    with pytest.raises(ValueError, match="stack must be one of the plan's: decoder but is vision"):
        posenc.emit(plan, stack="vision")
    with pytest.raises(ValueError, match="as_ must be"):
        posenc.emit(plan, "fortran", layer=0)
    small = posenc.read_plan(LLAMA)
    for changes, words in (
        ({"regions": posenc.SelfExtend(group=2, window=4)}, "SelfExtend"),
        ({"score": (posenc.Fire(),)}, "FIRE"),
        ({"score": (posenc.Alibi(heads=8), posenc.Kerple(), posenc.Kerple())}, "two biases of one kind"),
        ({"softmax_scale": float("inf")}, "softmax_scale is not finite"),
        ({"kv_heads": 3}, "8 heads cannot share 3 KV heads"),
        ({"kind": "linear_attention"}, "attention"),
    ):
        with pytest.raises(ValueError, match=words):
            posenc.emit(changed(small, **changes))


@pytest.mark.parametrize(
    "model",
    [
        "llama-3.1-8b",
        "gpt-oss-20b --layer 0",
        "t5-base --stack encoder",
        "deepseek-v3.2",
        "phi-3.5-mini",
        "gpt2",
        "gemma-2-9b --layer 1",
        "exaone-4.0-32b --layer 3",
    ],
)
def test_golden_vectors_beside_it(model, tmp_path):
    """`-o` writes vectors that the code passes as it stands, and another layer's code does not."""
    command = os.environ.get("POSENC_COMMAND")
    if not command:
        pytest.skip("the tool is not there")
    language = "torch" if model.startswith("gpt-oss") else "numpy"
    made = [command, "emit", *model.split(), "--as", language, "-o", str(tmp_path)]
    subprocess.run(made, check=True, capture_output=True)
    pytest_of = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / f"vectors_{language}")]
    run = subprocess.run(pytest_of, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    if model == "llama-3.1-8b":
        file = tmp_path / "attention_numpy.py"
        file.write_text(file.read_text().replace("LOW_FREQ_FACTOR = 1.0", "LOW_FREQ_FACTOR = 1.1"))
        assert subprocess.run(pytest_of, check=False, capture_output=True).returncode == 1
