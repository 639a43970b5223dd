#!/usr/bin/env python3
"""Writes the words that the readers know, taken from their sources: make_dictionary.py OUT_FOLDER

words.h is for token_mutator.cpp, words.dict for libFuzzer. A word is a string literal of src/plan that could be a key
or a name in a model's file.
"""
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "src/plan"
LITERAL = re.compile(r'"\.?([A-Za-z][A-Za-z0-9_.-]{1,47})"')
SYNTAX = ["{", "}", "[", "]", ":", ",", "null", "true", "false", "NaN", "Infinity", "1e400", "\\\\ud800", "\\\\u0000",
          "\\xEF\\xBB\\xBF"]


def words():
    found = set()
    for path in sorted(SOURCES.rglob("*.*")):
        for line in path.read_text(encoding="ascii").splitlines():
            if not line.startswith("#include"):
                found.update(LITERAL.findall(line))
    return sorted(found)


def write_if_changed(path, text):
    if not path.exists() or path.read_text(encoding="ascii") != text:
        path.write_text(text, encoding="ascii")


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    found = words()
    lines = "\n".join(f'    "{word}",' for word in found)
    write_if_changed(out / "words.h", "// Made by fuzz/make_dictionary.py.\n#pragma once\n\n#include <string_view>\n\n"
                     "namespace posenc::fuzz {\ninline constexpr std::string_view kWords[] = {\n"
                     f"{lines}\n}};\n}}  // namespace posenc::fuzz\n")
    entries = [f'"\\"{word}\\""' for word in found] + [f'"{token}"' for token in SYNTAX]
    write_if_changed(out / "words.dict", "\n".join(entries) + "\n")


if __name__ == "__main__":
    main()
