"""A compiler launcher for builds of posenc beside one that stands: takes its objects where it compiled just the same.

usage: compiled_already.py BUILD [LAUNCHER] COMPILER ARGUMENTS...

An object of BUILD is copied where BUILD's compile_commands.json has the same source with the same words, but for names
of outputs, warnings, and a precompiled header, which change no object; anything else is compiled. The dependency that
is then written is the object that was copied, so that the copy is made again when BUILD has compiled it again.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import sys

NAMES_OUTPUT = {"-o", "-MT", "-MF"}  # with the word behind
NO_CODE = re.compile(r"-MD|-W[^,]*")   # -Wp,-DNAME is for the preprocessor


def value(words, option):
    return words[words.index(option) + 1] if option in words[:-1] else None


def object_words(words):
    """What decides on the object, in its order: the compiler, without a launcher before it, and the words of use."""
    kept, rest = [], iter(words)
    for word in rest:
        if word in NAMES_OUTPUT:
            next(rest, None)
        elif word == "-include":
            header = next(rest, "")
            kept += [] if header.endswith("/cmake_pch.hxx") else [word, header]
        elif not NO_CODE.fullmatch(word):
            kept.append(word)
    first = next((i for i, word in enumerate(kept) if word.startswith("-")), len(kept))
    return kept[max(first - 1, 0):]


def object_of(build, words):
    """The object in BUILD that this command would make again, or None."""
    source = value(words, "-c")
    if source is None or not (build / "compile_commands.json").is_file():
        return None
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"] == source:
            theirs = shlex.split(entry["command"])
            made = pathlib.Path(entry["directory"], value(theirs, "-o"))
            if object_words(theirs) == object_words(words) and made.is_file():
                return made
    return None


def take(made, words):
    shutil.copyfile(made, value(words, "-o"))
    if value(words, "-MF"):
        pathlib.Path(value(words, "-MF")).write_text(f"{value(words, '-MT')}: {made} {value(words, '-c')}\n")


def main():
    build, words = pathlib.Path(sys.argv[1]), sys.argv[2:]
    made = object_of(build, words)
    if made is None:
        os.execvp(words[0], words)
    take(made, words)


if __name__ == "__main__":
    main()
