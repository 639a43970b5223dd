#!/usr/bin/env python3
"""Runs the commands that pages show, and writes what they print below them.

usage: capture_cli.py [--check] TOOL

A fenced block that opens with ```console holds commands, each on a line that starts with "$ ", and their output. They
run in a shell, in a folder that holds FILES and TENSORS, with TOOL as `posenc`. With --check nothing is written: the
exit status is 1 when an output differs from the page. A block that opens with ```console varies is captured but never compared:
its output depends on the machine.
"""
import difflib
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
PAGES = ("cli.md", "tutorial.md", "properties.md")

# What the commands on the pages read.
FILES = {
    "config.json": """{
  "model_type": "llama",
  "hidden_size": 256,
  "num_attention_heads": 4,
  "num_hidden_layers": 4,
  "max_position_embeddings": 4096,
  "rope_theta": 10000.0,
  "rope_scaling": {
    "type": "linear",
    "factor": -2
  }
}
""",
    "odd.json": """{
  "model_type": "llama",
  "hidden_size": 256,
  "num_attention_heads": 4,
  "num_hidden_layers": 4,
  "max_position_embeddings": 4096,
  "rope_theta": 10000.0,
  "rope_scaling": {"rope_type": "linear", "type": "dynamic", "factor": 2.0}
}
""",
    # Qwen2.5 7B with the rule that its model card names for long texts.
    "long.json": """{
  "model_type": "qwen2",
  "hidden_size": 3584,
  "num_attention_heads": 28,
  "num_key_value_heads": 4,
  "num_hidden_layers": 28,
  "max_position_embeddings": 131072,
  "rope_theta": 1000000.0,
  "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
}
""",
}

# Tensors of f32 that they turn: name and shape. Their numbers count up from -1 in steps of 2^-12.
TENSORS = {"q.npy": (6, 32, 128), "k.npy": (6, 8, 128), "v.npy": (6, 8, 128)}


def write_tensor(path, shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    count = math.prod(shape)
    numbers = struct.pack(f"<{count}f", *(i / 4096 - 1 for i in range(count)))
    path.write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + numbers)


def run(command, folder, tool):
    environment = {**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}", "LC_ALL": "C"}
    environment.pop("POSENC_ISA", None)
    shell = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
    return shell.stdout.splitlines()


def blocks_rewritten(name, lines, captured):
    """The page with each command's output replaced by captured(command, varies, old_output)."""
    out, i = [], 0
    while i < len(lines):
        out.append(lines[i])
        opens = lines[i].startswith("```console")
        varies = lines[i].endswith("varies")
        i += 1
        while opens and lines[i] != "```":
            command, i = lines[i], i + 1
            if not command.startswith("$ "):
                sys.exit(f"{name}: a block must start with a command, not with {command!r}")
            old = []
            while lines[i] != "```" and not lines[i].startswith("$ "):
                old.append(lines[i])
                i += 1
            out += [command, *captured(command[2:], varies, old)]
    return out


def captured_page(name, tool, check):
    """The page as it is, and as it would be."""
    page = (DOCS / name).read_text().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        for file, content in FILES.items():
            (pathlib.Path(folder) / file).write_text(content)
        for tensor, shape in TENSORS.items():
            write_tensor(pathlib.Path(folder) / tensor, shape)

        def captured(command, varies, old):
            return old if check and varies else run(command, folder, tool)

        return page, blocks_rewritten(name, page, captured)


def main(arguments):
    check = arguments[:1] == ["--check"]
    tool = pathlib.Path(arguments[-1]).resolve()
    if not tool.is_file():
        sys.exit(f"{tool}: there is no such program")
    differ = False
    for name in PAGES:
        page, now = captured_page(name, tool, check)
        if not check:
            (DOCS / name).write_text("\n".join(now) + "\n")
        elif now != page:
            differ = True
            print("\n".join(difflib.unified_diff(page, now, f"docs/{name}", "what the tool prints", lineterm="")))
    sys.exit(differ)


main(sys.argv[1:])
