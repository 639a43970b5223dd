"""One word for one thing: names in docs/architecture.md's table are those of C++, C, command line, JSON and Python.

usage: one_word.py SOURCE_DIR
"""
import pathlib
import re
import sys

import checkout

HEADING = "### One word for one thing"
COLUMNS = ("C++", "C", "CLI", "JSON", "Python")
LEAST_ROWS = 20


def rows_of(page):
    """[(thing, {column: names})] of the table under the heading."""
    table = page.partition(HEADING)[2].partition("\n### ")[0].partition("\n## ")[0]
    rows = []
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 1 + len(COLUMNS) or cells[0] in ("thing", "---"):
            continue
        rows.append((cells[0], {column: re.findall(r"`([^`]+)`", cell)
                                for column, cell in zip(COLUMNS, cells[1:], strict=True)}))
    return rows


def word(name):
    """`LayerPlan::softmax_scale`, `--softmax-scale`, `SoftmaxScale` and `posenc_softmax_scale` -> softmax_scale."""
    last = re.sub(r"^(posenc[_ ]|--)", "", name.rpartition("::")[2])
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last).lower().replace("-", "_")


def declares(column, name, text):
    """Whether a column's sources have the name where a user meets it."""
    if column == "C++":  # Type::member: a member of that struct or class
        owner, _, member = name.rpartition("::")
        if owner:
            found = re.search(rf"^(?:struct|class)(?: POSENC_API)? {owner} \{{(.*?)^\}};", text, re.M | re.S)
            return bool(found and re.search(rf"\b{member}\b(?=[ ;{{]|\()", re.sub(r"//[^\n]*", "", found[1])))
        return bool(re.search(rf"^(?:struct|enum class|class(?: POSENC_API)?) {name}\b", text, re.MULTILINE)
                    or re.search(rf"POSENC_API [^;\n]*\b{name}\(", text))
    if column == "C":
        return bool(re.search(rf"(?:\b|\*){name}\b(?=[;(,)\[])", re.sub(r"//[^\n]*", "", text)))
    if column == "CLI":
        option = name.removeprefix("posenc ")
        return f'"{option}"' in text or f',{option}"' in text
    if column == "JSON":
        return f'"{name}":' in text
    return bool(re.search(rf'"{name}"|\b{name}: |\bdef {name}\(', text))


def contract(case):
    """case: (page, {column: text of its sources}, least rows)."""
    page, sources, least = case
    rows = rows_of(page)
    complaints = [] if len(rows) >= least else [f"the table has {len(rows)} rows"]
    for thing, names in rows:
        said = [name for column in COLUMNS for name in names[column]]
        if len(said) < 2:
            complaints.append(f"{thing}: fewer than two names")
        if len({word(name) for name in said}) > 1:
            complaints.append(f"{thing}: more than one word: {', '.join(said)}")
        complaints += [f"{thing}: {column} has no {name}" for column in COLUMNS for name in names[column]
                       if not declares(column, name, sources[column])]
    return complaints


ROW = "| scale | `Layer::softmax_scale` | `softmax_scale` | `--softmax-scale` | `softmax_scale` | `softmax_scale` |"
PAGE = f"{HEADING}\n\n| thing | {' | '.join(COLUMNS)} |\n{'| --- ' * 6}|\n{ROW}\n\nText.\n"
SOURCES = {"C++": "struct Layer {\n  double softmax_scale = 1.0;\n};\n", "C": "  double softmax_scale;\n",
           "CLI": '{.names = "--softmax-scale"}', "JSON": '"softmax_scale": {}', "Python": 'member("softmax_scale", 1)'}
checkout.must_accept((PAGE, SOURCES, 1), contract)
checkout.must_complain({
    "no table": ("# A page\n", SOURCES, 1),
    "a table that shrank": (PAGE, SOURCES, 2),
    "another word": (PAGE.replace("`--softmax-scale`", "`--scale`"), {**SOURCES, "CLI": '"--scale"'}, 1),
    "a name that C++ lacks": (PAGE, {**SOURCES, "C++": SOURCES["C++"].replace("softmax", "logit")}, 1),
    "a member of another struct": (PAGE, {**SOURCES, "C++": SOURCES["C++"].replace("Layer", "Other")}, 1),
    "a name only in a comment of C": (PAGE, {**SOURCES, "C": "// softmax_scale;\n"}, 1),
    "an option that is not there": (PAGE, {**SOURCES, "CLI": '"--softmax"'}, 1),
    "a key that the schema lacks": (PAGE, {**SOURCES, "JSON": '"other_scale": {}'}, 1),
    "a name that Python lacks": (PAGE, {**SOURCES, "Python": 'member("other_scale", 1)'}, 1),
}, contract)

root = pathlib.Path(sys.argv[1])


def read(*patterns):
    return "\n".join(path.read_text(encoding="utf-8") for pattern in patterns for path in sorted(root.glob(pattern)))


C_HEADERS = ("c.h", "c_porting.h", "cache/c_quantised.h", "gradients/c.h")
of_c = {root / "include/posenc" / name for name in (*C_HEADERS, "cache/c.h", "distributed/c.h")}
headers = [path for path in sorted((root / "include/posenc").rglob("*.h")) if path not in of_c]
sources = {"C++": "\n".join(path.read_text(encoding="utf-8") for path in headers),
           "C": read(*(f"include/posenc/{name}" for name in C_HEADERS)),
           "CLI": read("tools/posenc/**/*.cpp"),
           "JSON": read("docs/*.schema.json"),
           "Python": read("python/src/**/*.h", "python/src/**/*.cpp", "python/posenc/*.py")}
checkout.report(contract(((root / "docs/architecture.md").read_text(encoding="utf-8"), sources, LEAST_ROWS)))
