"""A shared posenc exports its API, all of it and nothing else.

usage: exported_symbols.py INCLUDE_DIR LIBRARY
"""
import collections
import pathlib
import re
import subprocess
import sys

import checkout

COMMENT = re.compile(r"//[^\n]*|^#[^\n]*", re.MULTILINE)  # and directives
PROMISE = re.compile(r"POSENC_API\s+([^;{]*)")
TYPE = re.compile(r"(?:class|struct)\s+(?:POSENC_API\s+)?(\w+)")
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)
# What goes with a class that is thrown: "typeinfo for posenc::Error".
OF_A_TYPE = re.compile(r"(?:typeinfo|typeinfo name|vtable) for ")


def promised(headers):
    """How many functions of each qualified name the headers mark POSENC_API, and which types."""
    functions, types = collections.Counter(), set()
    for text in headers:
        text = COMMENT.sub("", text)
        spaces = NAMESPACE.findall(text)
        space = spaces[0] if spaces else ""
        for declaration in re.findall(r"(?:class|struct)\s+POSENC_API\s+\w+", text):
            types.add(f"{space}::{TYPE.match(declaration)[1]}")
        for match in PROMISE.finditer(text):
            name = re.search(r"(\w+)\s*\(", match[1])
            before = text[:match.start()].rstrip()
            if name and not before.endswith(("class", "struct")):
                functions[name[1] if space == "" else f"{space}::{name[1]}"] += 1
    return functions, types


def qualified_name(symbol):
    """"posenc::name(posenc::Isa)" -> "posenc::name"."""
    symbol = OF_A_TYPE.sub("", symbol)
    return re.split(r"[(\[]", symbol, maxsplit=1)[0]


def contract(case):
    """case: (texts of public headers, demangled symbols)."""
    headers, symbols = case
    functions, types = promised(headers)
    found = collections.Counter(qualified_name(symbol) for symbol in symbols)
    complaints = [f"exported, but not in the API: {symbol}" for symbol in symbols
                  if qualified_name(symbol) not in functions | dict.fromkeys(types)
                  and not any(qualified_name(symbol).startswith(f"{type_name}::") for type_name in types)]
    complaints += [f"in the API {count} times, but exported {found[name]} times: {name}"
                   for name, count in functions.items() if found[name] < count]
    complaints += [f"in the API, but nothing of it is exported: {name}" for name in types
                   if not any(symbol == name or symbol.startswith(f"{name}::") for symbol in found)]
    return complaints


HEADERS = ["namespace posenc {\nclass POSENC_API Error {};\nPOSENC_API int\nrope(int);\nPOSENC_API int rope(char);\n}"]
GOOD = ["posenc::rope(int)", "posenc::rope(char)", "posenc::Error::Error(int)", "typeinfo for posenc::Error"]
checkout.must_accept((HEADERS, GOOD), contract)
checkout.must_complain({
    "an instance of a standard template": (HEADERS, [*GOOD, "std::vector<posenc::Rope>::push_back(posenc::Rope&&)"]),
    "a dependency's function": (HEADERS, [*GOOD, "fmt::v9::vformat(int)"]),
    "an inner function": (HEADERS, [*GOOD, "posenc::io::parse(int)"]),
    "an inner type": (HEADERS, [*GOOD, "vtable for posenc::Errors"]),
    "a function that is not exported": (HEADERS, GOOD[1:]),
    "a class that is not exported": (HEADERS, GOOD[:2]),
}, contract)

listing = subprocess.run(["nm", "-D", "--defined-only", "--demangle", "--format=posix", sys.argv[2]],
                         capture_output=True, text=True, check=True).stdout
# NAME TYPE VALUE SIZE; a demangled name has spaces of its own.
exported = [re.match(r"(.+?) [A-Za-z] [0-9a-f]+( [0-9a-f]+)?$", line)[1] for line in listing.splitlines()]
print(f"{len(exported)} symbols")
checkout.report(contract(([path.read_text() for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.h"))], exported)))
