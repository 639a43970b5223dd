"""Places where a small fault can be put into a source file: what `scripts/mutants` draws from.

sites(path, text) finds them by the text alone, comments and strings left out; each is one line changed in one way:

    comparison  < and <=, > and >=, == and != change places
    logic       && and || change places (and, or); a "not" is left out
    operator    + and -, * and /, += and -= change places
    constant    an integer is one more, a number with a point is half as much again
    flag        true and false change places
    bound       min and max change places
    call        a statement that is one call is left out
"""

import dataclasses
import io
import re
import tokenize

PAIRS = {
    "comparison": {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == "},
    "logic": {" && ": " || ", " || ": " && ", " and ": " or ", " or ": " and "},
    "operator": {" + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " += ": " -= ", " -= ": " += "},
    "bound": {"std::min(": "std::max(", "std::max(": "std::min(", " min(": " max(", " max(": " min("},
}
FLAGS = {"true": "false", "false": "true", "True": "False", "False": "True"}
NUMBER = re.compile(r"(?<![\w.'])(\d[\d']*)(\.\d+)?(e[+-]?\d+)?(?![\w.'])")
NEGATION = re.compile(r"(?<=[(\s])(!(?=[A-Za-z_(])|not )")
CALL = re.compile(r"^\s+(?!(?:return|throw|delete|static_assert|raise|del|assert|await)\b)[A-Za-z_][\w:.\[\]]*(?:->\w+)*\(.*\)(;?)$")
# Lines that say what a thing is, and not what is done.
DECLARATIONS = re.compile(
    r"^\s*(#|static_assert|template|using|namespace|import|from|extern|friend|enum|struct|class|def |@|\[\[)"
)


@dataclasses.dataclass(frozen=True)
class Site:
    path: str
    line: int  # from 1
    column: int  # from 0
    kind: str
    before: str
    after: str

    def name(self):
        return f"{self.path}:{self.line}:{self.column}:{self.kind}"

    def applied(self, text):
        lines = text.split("\n")
        line = lines[self.line - 1]
        end = self.column + len(self.before)
        assert line[self.column : end] == self.before, self.name()
        lines[self.line - 1] = line[: self.column] + self.after + line[end:]
        return "\n".join(lines)


def masked_cpp(text):
    """The text with comments, strings and characters blanked, line breaks kept."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL
    )
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def masked_python(text):
    lines = text.split("\n")
    strings = [getattr(tokenize, name) for name in ("STRING", "COMMENT", "FSTRING_MIDDLE") if hasattr(tokenize, name)]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in strings:
            for row in range(token.start[0], token.end[0] + 1):
                line = lines[row - 1]
                first = token.start[1] if row == token.start[0] else 0
                last = token.end[1] if row == token.end[0] else len(line)
                lines[row - 1] = line[:first] + " " * (last - first) + line[last:]
    return "\n".join(lines)


def raised(number):
    """The next integer, or half as much again."""
    digits, fraction, exponent = number.groups()
    if fraction is None and exponent is None:
        return str(int(digits.replace("'", "")) + 1)
    value = float(number.group().replace("'", ""))
    return repr(value * 1.5 if value else 1.0)


def sites_of_line(path, row, line, whole):
    def site(kind, column, before, after):
        return Site(path, row, column, kind, before, after)

    for kind, pairs in PAIRS.items():
        for before, after in pairs.items():
            for found in re.finditer(re.escape(before), line):
                yield site(kind, found.start(), before, after)
    for found in NEGATION.finditer(line):
        yield site("logic", found.start(), found.group(), "")
    for found in re.finditer(r"\b(true|false|True|False)\b", line):
        yield site("flag", found.start(), found.group(), FLAGS[found.group()])
    for found in NUMBER.finditer(line):
        yield site("constant", found.start(), found.group(), raised(found))
    call = CALL.match(whole)
    if ".reserve(" in line:  # what is left out then is time, which no test may measure
        return
    is_declaration = re.search(r"\bconst |[a-z>] [&*]?[a-z_]+[,)]", line) is not None and not path.endswith(".py")
    if call and not is_declaration and line.count("(") == line.count(")") and line.strip():
        start = len(whole) - len(whole.lstrip())
        yield site("call", start, whole[start:], "pass" if path.endswith(".py") else ";")


def sites(path, text):
    """All Sites of a file, in the order of its text."""
    masked = masked_python(text) if path.endswith(".py") else masked_cpp(text)
    for row, (line, whole) in enumerate(zip(masked.split("\n"), text.split("\n")), 1):
        cpp_call_needs_semicolon = path.endswith(".py") or whole.rstrip().endswith(";")
        if DECLARATIONS.match(line):
            continue
        for found in sites_of_line(path, row, line, whole):
            if found.kind != "call" or cpp_call_needs_semicolon:
                yield found
