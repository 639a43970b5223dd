"""Commands that read a file that grows (growing_texts.py), by the file's kind: those that each text is given to, and the
rest."""
import json
import os
import shutil

import tensors
import tool

HEADS, CHANNELS, WIDTH = 4, 16, 64
BYTES = 24
# What is more was measured; it is a plan several times, or what is written of it. Patches repeat a rope dictionary.
PATCHED, STUDIED, REPORTED = 44, 48, 160


class Command:
    """`files`: how often it reads the file or one of its size. `space`: how many bytes it may take for each of theirs."""

    def __init__(self, *arguments, files=1, stdin=None, space=BYTES):
        self.arguments = [str(argument) for argument in arguments]
        self.files = files
        self.stdin = stdin
        self.space = space


class Beside:
    """What commands need but for the file that grows, in one folder; outputs are gone with clean()."""

    def __init__(self, folder):
        self.folder = folder
        self.rows = folder / "rows.npy"
        tensors.write_npy(self.rows, tensors.random_tensor((4, HEADS, CHANNELS)))
        self.keys = folder / "keys.npy"
        tensors.write_npy(self.keys, tensors.random_tensor((4, HEADS // 2, CHANNELS)))
        self.config = folder / "small.json"
        self.config.write_bytes(tool.small())
        self.vectors = folder / "vectors"
        tool.posenc("vectors", "llama-2-7b", "--tokens", "3", "-o", self.vectors)
        self.weights = folder / "small.safetensors"
        rows = {"q": HEADS, "k": HEADS // 2, "v": HEADS // 2}
        tensors.write_safetensors(self.weights, {
            f"model.layers.{layer}.self_attn.{name}_proj.weight": tensors.random_tensor((heads * CHANNELS, WIDTH))
            for layer in range(3) for name, heads in rows.items()})

    def out(self, name="out"):
        return self.folder / f"{name}.out"

    def clean(self):
        for path in self.folder.glob("*.out*"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def model(self, name, **files):
        """A folder with links to files: config=..., weights=..."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        names = {"config": "config.json", "weights": "model.safetensors", "index": "model.safetensors.index.json"}
        for key, path in files.items():
            os.link(path, folder / names[key])
        return folder

    def listed(self, path):
        out = self.folder / "list.txt"
        out.write_text(f"{path}\n")
        return out


def each(kind, file, other, beside):
    if kind == "safetensors":
        return {"rotate": Command("rotate", "--model", "llama-3.1-8b", "--q", file, "-o", beside.folder / "q.out.npy")}
    given = {"inspect": Command("inspect", file), "inspect --json": Command("inspect", "--json", file),
             "compare": Command("compare", file, other, files=2)}
    if kind == "json":
        given |= {"inspect --patch": Command("inspect", file, "--set", "base=7", "--patch", space=PATCHED),
                  "extend": Command("extend", file, "--to", "1000000", space=PATCHED)}
    return given


def of_models(kind, file, other, beside):
    given = {
        "inspect -": Command("inspect", "-", stdin=file),
        "inspect --strict": Command("inspect", "--strict", file),
        "inspect --layer": Command("inspect", file, "--layer", "0"),
        "survey": Command("survey", beside.listed(file)),
        "report": Command("report", file, "--against", other, "-o", beside.out(), files=2, space=REPORTED),
        "report --json": Command("report", file, "--json", space=REPORTED),
        "cache": Command("cache", file, space=STUDIED),
        "emit": Command("emit", file, "--as", "torch", "--layer", "0", "-o", beside.out()),
        "emit --json": Command("emit", file, "--layer", "0", "--json"),
        "vectors": Command("vectors", file, "--layer", "0", "--tokens", "3", "-o", beside.out()),
        "diagnose": Command("diagnose", "--model", file, "--layer", "0", "--before", beside.rows, "--after", beside.rows),
        "attend": Command("attend", "--model", file, "--layer", "0", "--q", beside.rows, "--k", beside.keys, "--v",
                          beside.keys, "-o", beside.folder / "attended.out.npy"),
    }
    if kind == "gguf":
        return given | {"extend": Command("extend", file, "--to", "1000000", space=PATCHED),
                        "extend -": Command("extend", "-", "--to", "1000000", stdin=file, space=PATCHED),
                        "inspect --patch": Command("inspect", file, "--set", "base=7", "--patch", space=PATCHED),
                        "convert": Command("convert", file, "--to", "half", "--dry-run")}
    folder = beside.model("model", config=file, weights=beside.weights)
    return given | {
        "inspect, weights beside": Command("inspect", folder),
        "convert": Command("convert", folder, "--to", "interleaved", "-o", beside.out()),
        "extend -": Command("extend", "-", "--to", "1000000", stdin=file, space=PATCHED),
        "extend --json": Command("extend", file, "--to", "1000000", "--json", space=PATCHED),
        "inspect --patch --json": Command("inspect", file, "--set", "rope_scaling=yarn,factor=4", "--patch", "--json",
                                          space=PATCHED),
    }


def of_tensors(file, beside):
    folder = beside.model("model", config=beside.config, weights=file)
    twin = beside.model("twin", config=beside.config, weights=file)
    return {
        "rotate -": Command("rotate", "--model", "llama-3.1-8b", "--q", "-", "-o", beside.folder / "q.out.npy", stdin=file),
        "attend": Command("attend", "--model", "llama-3.1-8b", "--q", file, "--k", file, "--v", file, "-o",
                          beside.folder / "attended.out.npy", files=3),
        "diagnose": Command("diagnose", "--before", file, "--after", file, files=2),
        "diagnose --weights": Command("diagnose", "--weights", file, "--model", beside.config),
        "inspect, a config beside": Command("inspect", folder),
        "compare, weights beside": Command("compare", folder, twin, files=2),
        "convert": Command("convert", folder, "--to", "interleaved", "-o", beside.out()),
        "convert, one file": Command("convert", file, "--model", beside.config, "--to", "interleaved", "-o",
                                     beside.folder / "one.out.safetensors"),
        "extend --weights": Command("extend", beside.config, "--to", "1000000", "--weights", file),
        "check": Command("check", beside.vectors, "--against", file),
    }


def of_indices(file, beside):
    folder = beside.model("model", config=beside.config, index=file)
    return {"inspect": Command("inspect", folder),
            "convert": Command("convert", folder, "--to", "interleaved", "-o", beside.out()),
            "extend --weights": Command("extend", beside.config, "--to", "1000000", "--weights", folder)}


def of_lists(file, beside):
    return {"survey": Command("survey", file), "survey -o": Command("survey", file, "-o", beside.out())}


def rest(kind, file, other, beside):
    if kind in ("json", "gguf"):
        return of_models(kind, file, other, beside)
    return {"safetensors": of_tensors, "index": of_indices, "list": of_lists}[kind](file, beside)
