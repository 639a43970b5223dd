"""docs/cli.md is the reference: each command's options are those of its --help, no more and no less, and said once."""
import re

import tool

PAGE = (tool.SOURCE_DIR / "docs/cli.md").read_text()
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
COMMANDS = ("inspect", "survey", "compare", "rotate", "attend", "diagnose", "convert", "vectors", "check", "emit", "report", "extend", "cache",
            "bench rotate", "bench attend", "plot", "properties", "info", "presets", "demo", "completion", "man")
KINDS = ("encoding", "bias", "distance", "attention", "wavelengths", "scaling", "rotation", "decay", "coordinates",
         "query-scale")


def section(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)[1]


def rows(text, first):
    """The cells of the rows of the table whose first column has that title."""
    table = re.search(rf"^\| {first} \|.*\n\|.*\n((?:\|.*\n)*)", text, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table[1].splitlines()] if table else []


def own(command):
    """Options in the table of the command's section."""
    table = rows(section(command), "option")
    return [flag for row in table for flag in FLAG.findall(row[0])]


def shared(command):
    """Options of several commands that are this one's."""
    return [flag for row in rows(section("Options of several commands"), "option") for flag in FLAG.findall(row[0])
            if (row[1].startswith("all") and command not in row[1].removeprefix("all but ").split(", "))
            or {command, command.split()[0]} & (set() if row[1].startswith("all") else set(row[1].split(", ")))]


def of_help(*command):
    options = tool.posenc(*command, "--help").out.split("Options:\n")[1].split("\n\n")[0]
    heads = [line.split("  ")[1] for line in options.splitlines() if line.startswith("  -")]
    return {flag for head in heads for flag in FLAG.findall(head)}


class Reference(tool.ToolTest):
    def test_options_of_commands(self):
        for command in COMMANDS:
            if command == "plot":
                continue
            with self.subTest(command=command):
                said = own(command) + shared(command)
                self.assertEqual(len(said), len(set(said)), said)
                self.assertEqual(set(said), of_help(*command.split()))

    def test_options_of_plots(self):
        there = {row[0].strip("`"): set(FLAG.findall(row[2])) for row in rows(section("plot"), "kind")}
        self.assertEqual(sorted(there), sorted(KINDS))
        for kind in KINDS:
            with self.subTest(kind=kind):
                known = of_help("plot", kind)
                self.assertLessEqual(there[kind], known)
                self.assertLessEqual(known, there[kind] | set(shared("plot")))

    def test_every_command_has_a_section(self):
        listed = tool.posenc("--help").out.split("Commands:\n")[1].split("\n\n")[0]
        names = {line.split()[0] for line in listed.splitlines() if re.match(r"  [a-z]", line)}
        self.assertEqual(names, {command.split()[0] for command in COMMANDS})
        for command in COMMANDS:
            section(command)

    def test_exit_codes(self):
        codes = {int(code) for row in rows(section("Exit codes"), "code") for code in row[0].split(", ")}
        header = next((tool.SOURCE_DIR / "tools").rglob("exit_code.h")).read_text()
        self.assertLessEqual({int(code) for code in re.findall(r"= (\d+)", header)}, codes)


tool.main()
