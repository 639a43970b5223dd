#!/usr/bin/env python3
"""Follows pages as a reader does, and writes what their commands print below them.

usage: capture_cli.py [--check] TOOL [PAGE...]

All blocks of a page run in one folder, in their order. It holds what page_files.py has for the page, and is empty else.

  ```console      commands, each on a line that starts with "$ ", and below it what it prints
  ```console varies    the same; captured, but never compared: what is printed depends on the machine
  ```sh           lines for a shell. The page shows nothing of what they print; each must end with status 0, or with 1
                  where it is `posenc compare`, whose verdict that is
  ```cpp          of a page in PROGRAMS: the file there holds the program that the page has shown so far
  ```text         what that program prints: all of them together, the last time that it runs

TOOL is `posenc` there, and pkg-config finds the library of the build that it stands in (which CXXFLAGS compile with).
With --check nothing is written: the exit status is 1 when an output differs from the page.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import page_files

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/cli.md", "docs/convert.md", "docs/tutorial.md", "docs/tutorial-python.md", "docs/properties.md",
         "docs/overrides.md", "docs/vectors.md", "docs/emit.md", "docs/extend.md", "docs/stories/slightly-worse-glm4.md",
         "docs/stories/writing-an-engine.md")

# Page: the file that its C++ goes to, and how: whole programs, or snippets that follow one another in main.
PROGRAMS = {"README.md": ("engine.cpp", "whole"), "docs/tutorial.md": ("where.cpp", "snippets")}

# A line of sh; those that end in a backslash, or begin a here-document, go on.
COMMAND = re.compile(r"[^\n]*<<'(\w+)'[^\n]*\n.*?^\1\n|(?:[^\n]*\\\n)*[^\n]+\n", re.DOTALL | re.MULTILINE)


def program(snippets, kind):
    if kind == "whole":
        return snippets[-1]
    body = "".join(snippets)
    includes = "".join(re.findall(r"^#include .*\n", body, re.MULTILINE))
    return f"{includes}\nint main() {{\n" + re.sub(r"^#include .*\n", "", body, flags=re.MULTILINE) + "}\n"


class Reader:
    """A folder with the page's files, a shell with the tool and the library."""

    def __init__(self, page, folder, tool):
        self.page, self.folder, self.snippets, self.faults = page, folder / "here", [], []
        self.texts, self.last_run = [], None
        self.folder.mkdir()
        for name, content in page_files.files_of(page).items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_bytes(content)
        flags = os.environ.get("CXXFLAGS", "")
        library_folder = tool.parents[2] / "src"
        for name, parts in {"posenc": ["posenc"], "posenc_study": ["posenc_study", "posenc"]}.items():
            libraries = [str(next(iter(sorted(library_folder.glob(f"lib{part}.[as]*"))), "")) for part in parts]
            (folder / f"{name}.pc").write_text(f"Name: {name}\nDescription: of a build\nVersion: 0\n"
                                               f"Cflags: {flags} -I{ROOT}/include\n"
                                               f"Libs: {flags} {' '.join(libraries)} "
                                               f"-Wl,-rpath,{library_folder} -pthread\n")
        self.environment = {**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}", "LC_ALL": "C",
                            "PKG_CONFIG_PATH": str(folder)}
        self.environment.pop("POSENC_ISA", None)

    def shell(self, command):
        return subprocess.run(["sh", "-c", command], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)

    def printed(self, command):
        return self.shell(command).stdout.splitlines()

    def follow(self, text):
        """A block of sh, command by command."""
        for command in COMMAND.finditer(text):
            run = self.shell(command[0])
            if run.returncode not in ((0, 1) if command[0].startswith("posenc compare") else (0,)):
                self.faults.append(f"{self.page}: status {run.returncode} of: {command[0]}{run.stdout}")
            elif command[0].startswith("./"):
                self.last_run = run.stdout

    def code(self, text):
        if self.page in PROGRAMS:
            file, kind = PROGRAMS[self.page]
            self.snippets.append(text)
            (self.folder / file).write_text(program(self.snippets, kind))

    def close(self):
        if self.last_run is not None and self.texts and self.last_run != "".join(self.texts):
            self.faults.append(f"{self.page}: the program prints other lines than its text blocks:\n{self.last_run}")


def followed(page, lines, reader, check):
    """The page as it would be: below each command of a console what it prints."""
    out, i = [], 0
    while i < len(lines):
        opens = lines[i]
        out.append(opens)
        i += 1
        if not opens.startswith("```"):
            continue
        end = lines.index("```", i)
        block, i = lines[i:end], end
        if opens.startswith("```console"):
            out += captured(page, block, reader, check and opens.endswith("varies"))
        else:
            text = "".join(line + "\n" for line in block)
            if opens == "```sh":
                reader.follow(text)
            elif opens == "```cpp":
                reader.code(text)
            elif opens == "```text":
                reader.texts.append(text)
            out += block
        out.append("```")
        i += 1
    return out


def captured(page, block, reader, keep):
    """Each command and what it prints; what stands there where that is to be kept."""
    if not block or not block[0].startswith("$ "):
        sys.exit(f"{page}: a block must start with a command, not with {block[:1]}")
    out = []
    for line in block:
        if keep:
            out.append(line)
        elif line.startswith("$ "):
            out += [line, *reader.printed(line[2:])]
    return out


def main(arguments):
    check = arguments[:1] == ["--check"]
    tool, *pages = arguments[check:]
    tool = pathlib.Path(tool).resolve()
    if not tool.is_file():
        sys.exit(f"{tool}: no such file")
    failed = False
    for name in pages or PAGES:
        page = (ROOT / name).read_text().splitlines()
        with tempfile.TemporaryDirectory() as folder:
            reader = Reader(name, pathlib.Path(folder), tool)
            now = followed(name, page, reader, check)
            reader.close()
        print("".join(reader.faults), end="")
        if not check:
            (ROOT / name).write_text("\n".join(now) + "\n")
        elif now != page:
            print("\n".join(difflib.unified_diff(page, now, name, "what the tool prints", lineterm="")))
        failed = failed or bool(reader.faults) or (check and now != page)
    sys.exit(failed)


main(sys.argv[1:])
