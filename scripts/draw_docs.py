#!/usr/bin/env python3
"""Draws the pictures of docs/pictures with `posenc plot`.

usage: draw_docs.py [--check] TOOL

With --check nothing is written: the exit status is 1 when a picture differs from what TOOL draws, when one is missing or
left over, when no page shows it, when a page shows one that is not there, or when a scheme's page shows none.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FOLDER = DOCS / "pictures"

# Name of the picture: what follows `posenc plot`. A scheme's picture has the name of its page.
PICTURES = {
    # input
    "binary": "encoding --scheme binary --channels 6",
    "integer": "encoding --scheme integer,normalised --channels 8 --positions 16",
    "learned": "encoding --scheme learned --products",
    "sinusoidal": "encoding",
    "sinusoidal-products": "encoding --products",
    "grid-positions": "coordinates --items text=3,image=4x6,text=2",
    # rotate
    "rotation": "rotation",
    "decay": "decay",
    "wavelengths": "wavelengths --model llama-3.1-8b",
    "wavelengths-of-layers": "wavelengths --model gemma-3-4b",
    "scaling-rules": "scaling --scheme rope,base=500000 --original-length 8192 --factor 8",
    "longrope": "scaling --model phi-3.5-mini",
    "xpos": "attention --scheme xpos,scale_base=4",
    "self-extend": "distance --scheme self_extend,group=4,window=16",
    "rerope": "distance --scheme rerope,window=16",
    "dual-chunk": "distance --scheme dual_chunk,chunk=24,local=8,trained=32",
    "linear-attention": "attention --scheme linear --both-ways",
    "nope": "attention --scheme rope --both-ways",
    # score
    "alibi": "bias --scheme alibi,heads=8 --curves",
    "attention-alibi": "attention --scheme alibi,heads=8",
    "t5": "bias --scheme t5 --curves --tokens 200",
    "clipped-bias": "bias --scheme clipped,past=8,future=8 --both-ways --tokens 32",
    "grid-bias": "bias --scheme grid,rows=5",
    "kerple": "bias --scheme kerple,r1=1,r2=1 --curves --tokens 200",
    "fire": "bias --scheme fire,c=1,threshold=32",
    "sandwich": "bias --scheme sandwich,heads=8 --curves --tokens 200",
    "mlp-bias": "bias --scheme mlp,logarithmic --both-ways --tokens 32",
    "shaw": "bias --scheme shaw,left=16,right=16 --both-ways --tokens 48",
    "transformer-xl": "bias --scheme transformer_xl,asks=16",
    "xlnet": "bias --scheme xlnet,asks=16",
    "deberta": "bias --scheme deberta,buckets=32,max_distance=128 --curves --both-ways --tokens 200",
    "decomposed-hw": "bias --scheme decomposed_hw,rows=9",
    "contextual-position": "bias --scheme contextual,every=8 --tokens 48",
    "forget-gate": "bias --scheme forget,every=12 --tokens 48",
    "query-scales": "query-scale",
    "softmax-scale-and-soft-cap": "attention --scheme soft_cap,cap=2",
    # value
    "rotated-values": "rotation --scheme rope,dim=64 --pairs 4",
}

# Pages of docs/schemes that are not about one scheme that posenc computes.
WITHOUT = {"README", "research", "added"}
SHOWN = re.compile(r"!\[[^\]]+\]\(([^)]+\.svg)\)")


def drawn(tool, words):
    run = subprocess.run([tool, "plot", *words.split()], capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"posenc plot {words}: {run.stderr}")
    return run.stdout


def faults_of_pictures(pictures):
    there = {path.stem: path.read_text() for path in FOLDER.glob("*")}
    for name in sorted(there.keys() | pictures.keys()):
        if name not in there:
            yield f"{name}.svg is not there"
        elif name not in pictures:
            yield f"{name}.svg has no command in this script"
        elif there[name] != pictures[name]:
            yield f"{name}.svg is not what `posenc plot {PICTURES[name]}` draws"


def faults_of_pages():
    shown = set()
    for page in sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")]):
        here = [(page.parent / link).resolve() for link in SHOWN.findall(page.read_text())]
        shown.update(here)
        yield from (f"{page.relative_to(ROOT)} shows {path.name}, which is not there" for path in here
                    if not path.is_file())
        scheme = page.name.split(".")[0]  # of translations too
        if page.parent.name == "schemes" and scheme not in WITHOUT:
            if FOLDER / f"{scheme}.svg" not in here:
                yield f"{page.relative_to(ROOT)} does not show pictures/{scheme}.svg"
            yield from (f"{page.relative_to(ROOT)} does not say how {path.stem}.svg is drawn" for path in here
                        if f"`posenc plot {PICTURES.get(path.stem)}`" not in page.read_text())
    yield from (f"no page shows {name}.svg" for name in PICTURES if FOLDER / f"{name}.svg" not in shown)


def main(arguments):
    tool = pathlib.Path(arguments[-1]).resolve() if arguments else None
    if tool is None or not tool.is_file():
        sys.exit(__doc__)
    pictures = {name: drawn(tool, words) for name, words in PICTURES.items()}
    if arguments[0] == "--check":
        faults = [*faults_of_pictures(pictures), *faults_of_pages()]
        for fault in faults:
            print(fault)
        sys.exit(bool(faults))
    FOLDER.mkdir(exist_ok=True)
    for name, picture in pictures.items():
        (FOLDER / f"{name}.svg").write_text(picture)


main(sys.argv[1:])
