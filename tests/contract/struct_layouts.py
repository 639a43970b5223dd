"""The structs of the C headers lie in memory as cmake/layouts.txt records: a program that was compiled against it goes on.

usage: struct_layouts.py INCLUDE_DIR LIST COMPILER
       struct_layouts.py --write INCLUDE_DIR LIST COMPILER        (writes the list)

For machines whose pointers and size_t have 8 bytes, which are all that the record is about: elsewhere nothing is compared.
A struct whose first member is its size may grow at its end (c.h): then the record is written again, and what it had stays.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import checkout

COMMENT = re.compile(r"//[^\n]*")
STRUCT = re.compile(r"typedef struct (\w+) \{(.*?)\} \1;", re.DOTALL)
MEMBER = re.compile(r"\(\*(\w+)\)\(|(\w+)(?:\[\w+\])?$")
HEAD = """# Structs of the C headers on machines with pointers of 8 bytes: bytes, or of a member its offset and its bytes. Made by
# tests/contract/struct_layouts.py --write, which also holds the headers to it.
"""


def members(text):
    """{struct: its members}, in order."""
    found = {}
    for name, body in STRUCT.findall(COMMENT.sub("", text)):
        declarations = [" ".join(one.split()) for one in body.split(";")]
        found[name] = [next(filter(None, MEMBER.search(one).groups())) for one in declarations if one]
    return found


def measured(headers, include, compiler):
    """The lines of the record, by a program that the compiler makes; none where pointers are no 8 bytes."""
    structs = {name: parts for header in headers for name, parts in members((include / header).read_text()).items()}
    lines = "".join(f"#include <{header}>\n" for header in headers)
    for name, parts in structs.items():
        lines_of = [f'  std::printf("{name} %zu\\n", sizeof({name}));']
        lines_of += [f'  std::printf("{name}.{part} %zu %zu\\n", offsetof({name}, {part}), sizeof({name}::{part}));' for part in parts]
        structs[name] = "\n".join(lines_of)
    text = f"{lines}#include <cstddef>\n#include <cstdio>\nint main() {{\n  if (sizeof(void*) != 8) return 0;\n" + "\n".join(structs.values()) + "\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder) / "layouts.cpp", pathlib.Path(folder) / "layouts"
        source.write_text(text)
        subprocess.run([compiler, "-std=c++20", f"-I{include}", source, "-o", program], check=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


def contract(case):
    """case: (recorded lines, measured lines)."""
    recorded, found = ({line.split()[0]: line for line in lines} for lines in case)
    complaints = [f"recorded as \"{line}\", but is {found.get(name, 'no more')}" for name, line in recorded.items()
                  if found.get(name) != line]
    return complaints + [f"not in the record: {line}" for name, line in found.items() if name not in recorded]


SAMPLE = """typedef struct one {
  size_t size;  // in bytes; of one
  const posenc_table* const* tables;
  void (*run)(void* user, int64_t count);
  float numbers[4];
} one;"""
if members(SAMPLE) != {"one": ["size", "tables", "run", "numbers"]}:
    sys.exit(f"this check is blind: it reads {members(SAMPLE)}")
LINES = ["one 24", "one.size 0 8"]
checkout.must_accept((LINES, LINES), contract)
checkout.must_complain({
    "a member that moved": (LINES, ["one 24", "one.size 8 8"]),
    "a struct that shrank": (LINES, ["one 16", "one.size 0 8"]),
    "a member that went": (LINES, LINES[:1]),
    "a member that is not recorded": (LINES[:1], LINES),
}, contract)


def main(arguments):
    is_writing = arguments[0] == "--write"
    include, record, compiler = arguments[is_writing:]
    include, record = pathlib.Path(include), pathlib.Path(record)
    headers = sorted(path.relative_to(include).as_posix() for path in include.rglob("*.h") if STRUCT.search(path.read_text()))
    found = measured(headers, include, compiler)
    if is_writing:
        record.write_text(HEAD + "\n".join(found) + "\n")
        return
    print(f"{len(found)} sizes and offsets")
    recorded = [line for line in record.read_text().splitlines() if not line.startswith("#")]
    checkout.report(contract((recorded, found)) if found else [])


main(sys.argv[1:])
