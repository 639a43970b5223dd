"""Every text file is ASCII, no source file is too long, and none names a machine.

usage: source_text.py SOURCE_DIR
"""
import pathlib
import re
import sys

import checkout

# Translations and data that is not ours are written in what they are written in; what a fuzzer found is any bytes.
NOT_ASCII = re.compile(r".*\.[a-z]{2}-[A-Z]{2}\.md")
FOUND_BYTES = "fuzz/regressions/"
SOURCE = {".h", ".cpp", ".inc", ".py", ".cmake"}
LONG = 400      # worth a thought
TOO_LONG = 600  # STYLE: one file, one subject
GENERATED = re.compile(rb"(//|#) Made by \S+")  # a first line that names the script; such data may be as long as it is

# A path under one of these is some machine's own. The pattern is assembled so that it does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w./$}>])/(?:" + "|".join(["home", "root", "work", "workspace", "Users", "tmp"]) + r")/")
URL_HOST = re.compile(r"https?://([\w.-]+)")
HOSTS = {
    "arxiv.org", "doi.org", "git-lfs.github.com", "github.com", "huggingface.co", "json-schema.org", "keepachangelog.com", "semver.org",
    "cyclonedx.org", "www.apache.org", "www.rfc-editor.org", "www.unicode.org", "www.w3.org", "en.wikipedia.org",
}


def contract(texts):
    """texts: {path: bytes}."""
    complaints = []
    for path, raw in texts.items():
        lines = raw.split(b"\n")
        for number, line in enumerate(lines, 1):
            if not line.isascii() and not NOT_ASCII.fullmatch(path.name) and not str(path).startswith(FOUND_BYTES):
                complaints.append(f"{path}:{number}: not ASCII")
            text = line.decode("utf-8", "replace")
            if MACHINE_PATH.search(text):
                complaints.append(f"{path}:{number}: names a path of one machine")
            complaints += [f"{path}:{number}: {host} is not in this script's list of hosts"
                           for host in URL_HOST.findall(text) if host not in HOSTS]
        if path.suffix in SOURCE and len(lines) - 1 > TOO_LONG and not GENERATED.match(raw):
            complaints.append(f"{path}: {len(lines) - 1} lines; {TOO_LONG} is the most")
    return complaints


def sample(name, raw):
    return {pathlib.PurePosixPath(name): raw}


checkout.must_complain({
    "a letter with an accent": sample("a.md", b"caf\xc3\xa9"),
    "a byte that is no text": sample("a.cpp", b"\xff"),
    "a home folder": sample("a.md", b"run /" + b"home/somebody/x"),
    "a registry": sample("a.md", b"from https://" + b"packages.example.org/simple"),
    "a source of 601 lines": sample("a.cpp", b"\n" * (TOO_LONG + 1)),
    "one that says later who made it": sample("a.cpp", b"\n// Made by a.py" + b"\n" * TOO_LONG),
}, contract)
checkout.must_accept(sample("fuzz/regressions/gguf/a", b"GGUF\xff"), contract)
checkout.must_accept(sample("a.cpp", b"// Made by a.py; do not edit." + b"\n" * (TOO_LONG + 1)), contract)
checkout.must_accept(sample("a.cpp", b"// https://arxiv.org/abs/2104.09864, <prefix>/home/, a/work/b\n" * TOO_LONG),
                     contract)

root = pathlib.Path(sys.argv[1])
contents = {path: (root / path).read_bytes() for path in checkout.files(root)}
for path, raw in contents.items():
    if path.suffix in SOURCE and raw.count(b"\n") > LONG:
        print(f"{path}: {raw.count(chr(10).encode())} lines, over {LONG}")
checkout.report(contract(contents))
