"""Shared libraries of posenc export their API, all of it and nothing else, as cmake/exported.txt lists it.

usage: exported_symbols.py INCLUDE_DIR LIST LIBRARY STUDY_LIBRARY
       exported_symbols.py --write INCLUDE_DIR LIST              (writes the list from the headers)
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
# The one whose names are exported; those that are declared beside it are the library's own.
NAMESPACE = re.compile(r"^namespace (posenc)::inline (v\d+_\d+)((?:::\w+)*) \{", re.MULTILINE)
# What goes with a class that is thrown: "typeinfo for posenc::Error".
OF_A_TYPE = re.compile(r"(?:typeinfo|typeinfo name|vtable) for ")
STUDY_HEADERS = {"properties.h", "reference_research.h", "study.h"}
HEAD = """# What a shared posenc and posenc_study export: library, name (in C++ without the inline version namespace), and how
# many overloads, or that it is a class, all of whose members are. Made by tests/contract/exported_symbols.py --write,
# which also holds it to the symbols.
"""


def promised(headers):
    """How many functions of each qualified name the headers mark POSENC_API, and which types."""
    functions, types = collections.Counter(), set()
    for text in headers:
        text = COMMENT.sub("", text)
        space = NAMESPACE.search(text)
        prefix = f"{space[1]}{space[3]}::" if space else ""
        for declaration in re.findall(r"(?:class|struct)\s+POSENC_API\s+\w+", text):
            types.add(prefix + TYPE.match(declaration)[1])
        for match in PROMISE.finditer(text):
            name = re.search(r"(\w+)\s*\(", match[1])
            before = text[:match.start()].rstrip()
            if name and not before.endswith(("class", "struct")):
                functions[prefix + name[1]] += 1
    return functions, types


def qualified_name(symbol, version):
    """"posenc::v0_2::name(posenc::v0_2::Isa)" -> "posenc::name"; of C++ in no such namespace, that it is not."""
    name = re.split(r"[(\[]", OF_A_TYPE.sub("", symbol), maxsplit=1)[0]
    space = f"posenc::{version}::"
    if name.startswith(space):
        return "posenc::" + name[len(space):]
    return f"{name} outside of {space}" if "::" in name else name


def contract(case):
    """case: (version, texts of public headers, demangled symbols)."""
    version, headers, symbols = case
    functions, types = promised(headers)
    names = {symbol: qualified_name(symbol, version) for symbol in symbols}
    found = collections.Counter(names.values())
    complaints = [f"not in the namespace of {version}: {space[0]}" for text in headers
                  if (space := NAMESPACE.search(text)) and space[2] != version]
    complaints += [f"exported, but not in the API: {symbol}" for symbol, name in names.items()
                   if name not in functions | dict.fromkeys(types)
                   and not any(name.startswith(f"{type_name}::") for type_name in types)]
    complaints += [f"in the API {count} times, but exported {found[name]} times: {name}"
                   for name, count in functions.items() if found[name] < count]
    complaints += [f"in the API, but nothing of it is exported: {name}" for name in types
                   if not any(symbol == name or symbol.startswith(f"{name}::") for symbol in found)]
    return complaints


def listed(library, headers):
    """The lines of the list that are about one library."""
    functions, types = promised(headers)
    return sorted([f"{library} {name} {count}" for name, count in functions.items()]
                  + [f"{library} {name} class" for name in types])


def list_contract(case):
    """case: (lines of the list, {library: texts of its headers})."""
    lines, libraries = case
    wanted = [line for library, headers in sorted(libraries.items()) for line in listed(library, headers)]
    return ([f"in the headers, but not in the list: {line}" for line in wanted if line not in lines]
            + [f"in the list, but not in the headers: {line}" for line in lines if line not in wanted])


HEADERS = ["namespace posenc::cpu {\nstruct Own;\n}\nnamespace posenc::inline v1_2 {\nclass POSENC_API Error {};\n"
           "POSENC_API int\nrope(int);\nPOSENC_API int rope(char);\n}"]
GOOD = ["posenc::v1_2::rope(int)", "posenc::v1_2::rope(char)", "posenc::v1_2::Error::Error(int)",
        "typeinfo for posenc::v1_2::Error"]
checkout.must_accept(("v1_2", HEADERS, GOOD), contract)
checkout.must_complain({
    "an instance of a standard template":
        ("v1_2", HEADERS, [*GOOD, "std::vector<posenc::v1_2::Rope>::push_back(posenc::v1_2::Rope&&)"]),
    "a dependency's function": ("v1_2", HEADERS, [*GOOD, "fmt::v9::vformat(int)"]),
    "an inner function": ("v1_2", HEADERS, [*GOOD, "posenc::io::parse(int)"]),
    "a function outside of the version's namespace": ("v1_2", HEADERS, [*GOOD, "posenc::rope(long)"]),
    "another version's namespace": ("v1_3", HEADERS, GOOD),
    "an inner type": ("v1_2", HEADERS, [*GOOD, "vtable for posenc::v1_2::Errors"]),
    "a function that is not exported": ("v1_2", HEADERS, GOOD[1:]),
    "a class that is not exported": ("v1_2", HEADERS, GOOD[:2]),
}, contract)
LINES = ["posenc posenc::Error class", "posenc posenc::rope 2"]
checkout.must_accept((LINES, {"posenc": HEADERS}), list_contract)
checkout.must_complain({
    "a name that is not listed": (LINES[1:], {"posenc": HEADERS}),
    "a name too many": ([*LINES, "posenc posenc::table 1"], {"posenc": HEADERS}),
    "an overload that is not listed": ([LINES[0], "posenc posenc::rope 1"], {"posenc": HEADERS}),
    "another library": ([LINES[0], "study posenc::rope 2"], {"posenc": HEADERS}),
}, list_contract)


def exported(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", "--demangle", "--format=posix", library],
                             capture_output=True, text=True, check=True).stdout
    # NAME TYPE VALUE SIZE; a demangled name has spaces of its own.
    return [re.match(r"(.+?) [A-Za-z] [0-9a-f]+( [0-9a-f]+)?$", line)[1] for line in listing.splitlines()]


def main(arguments):
    is_writing = arguments[0] == "--write"
    include, names, *shared = map(pathlib.Path, arguments[is_writing:])
    headers = {"posenc": [], "study": []}
    for path in sorted(include.rglob("*.h")):
        headers["study" if path.name in STUDY_HEADERS else "posenc"].append(path.read_text())
    if is_writing:
        lines = listed("posenc", headers["posenc"]) + listed("study", headers["study"])
        names.write_text(HEAD + "\n".join(lines) + "\n")
        return
    numbers = dict(re.findall(r"POSENC_VERSION_(MAJOR|MINOR) (\d+)", (include / "posenc/version.h").read_text()))
    version = f"v{numbers['MAJOR']}_{numbers['MINOR']}"
    lines = [line for line in names.read_text().splitlines() if not line.startswith("#")]
    complaints = list_contract((lines, headers))
    for library, path in zip(("posenc", "study"), shared, strict=True):
        symbols = exported(path)
        if library == "study":  # where it throws Error, it has what every object has that does
            _, types = promised(headers["posenc"])
            symbols = [symbol for symbol in symbols if qualified_name(symbol, version).rpartition("::")[0] not in types
                       and not (OF_A_TYPE.match(symbol) and qualified_name(symbol, version) in types)]
        print(f"{library}: {len(symbols)} symbols")
        complaints += contract((version, headers[library], symbols))
    checkout.report(complaints)


main(sys.argv[1:])
