"""What the tables of hostile cases are written with (README.md)."""
import functools
import pathlib
import re
import sys
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from gguf_file import Gguf  # noqa: E402

MARK = b"^"  # stands in a text where the error must be; is taken out
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NO_LINES = ("json_encoding",)  # errors about a text of which no lines are known


class Reader(NamedTuple):
    """One of the readers of cases_test.cpp."""
    name: str
    suffix: str
    lines: bool  # whether its places have a line and a column
    heap_per_byte: int = 64
    heap: int = 1 << 20  # bytes, and as many more
    command: bool = True  # whether `posenc inspect` reads it as this reader does


class Many(NamedTuple):
    """A piece so many times, of which no large file is made. "###" in it is the number of the time, in three digits."""
    piece: bytes
    count: int

    def bytes(self):
        digits = re.search(rb"#+", self.piece)
        if not digits:
            return self.piece * self.count
        form = b"%%0%dd" % len(digits.group())
        return b"".join(self.piece.replace(digits.group(), form % i) for i in range(self.count))


class Place(NamedTuple):
    line: int = -1
    column: int = -1
    offset: int = -1


class Case(NamedTuple):
    reader: Reader
    name: str
    parts: list  # of bytes and Many
    kind: str  # of the error; "ok"; "unknown": accepted with a stack that is not known; "cut": accepted, but not when it
    # ends early
    fragment: str  # of the message, or of the warning `undecided`; of what is accepted: the code of its warning; of "cut": the kinds of errors
    path: str
    place: Place
    ask: str  # of a JSON document: see the functions below

    def bytes(self):
        return bytes_of(self.parts)

    def size(self):
        return sum(len(part) if isinstance(part, bytes) else len(part.piece) * part.count for part in self.parts)

    def heap(self):
        return self.reader.heap_per_byte * self.size() + self.reader.heap


class Elsewhere(NamedTuple):
    """A test that no case can stand for: a file of this repository, and what stands in it."""
    file: str
    text: str


class NotYet(NamedTuple):
    """Why there is nothing to test."""
    reason: str


def is_file(content):
    """A Gguf, or another builder that knows where its parts stand."""
    return hasattr(content, "place")


def parts_of(content, marked):
    """Bytes, Many, and at most one MARK: of a list a part of its own, else somewhere in the text."""
    if isinstance(content, list):
        return [part.bytes() if is_file(part) else part for part in content]
    text = content.encode() if isinstance(content, str) else content
    return list(text.partition(MARK)) if marked and MARK in text else [text]


def bytes_of(parts):
    return b"".join(part.bytes() if isinstance(part, Many) else part for part in parts)


def place_behind(before, lines):
    if not lines:
        return Place(offset=len(before))
    line = before.rpartition(b"\n")[2]
    return Place(before.count(b"\n") + 1, len(line.replace(BYTE_ORDER_MARK, b"")) + 1, len(before))


def place_in(file, at, path):
    """In a Gguf: an offset; what Gguf.place() finds, or bytes behind it; else the key's value or the tensor's entry."""
    if isinstance(at, int):
        return Place(offset=at)
    if at is not None:
        what, behind = at if isinstance(at, tuple) else (at, 0)
        return Place(offset=file.place(what) + behind)
    found = [file.place(what) for what in (f"value of {path}", f"entry of {path}") if file.has(what)]
    return Place(offset=found[0]) if found else Place()


def case(reader, name, content, kind="ok", fragment="", path="", at=None, ask=""):
    """`content`: text or bytes, with a mark where the error is; a Gguf; or a list of bytes, Many, Gguf, and MARK.
    `at`: where the error is in a Gguf (place_in)."""
    if is_file(content):
        return Case(reader, name, [content.bytes()], kind, fragment, path, place_in(content, at, path), ask)
    parts, place = parts_of(content, marked=kind not in ("ok", "cut")), Place()
    if MARK in parts:
        before = bytes_of(parts[:parts.index(MARK)])
        place = place_behind(before, reader.lines and kind not in NO_LINES)
        parts.remove(MARK)
    return Case(reader, name, parts, kind, fragment, path, place, ask)


# A reader is a line here, and a function in cases_test.cpp.
json = functools.partial(case, Reader("json", "json", lines=True, command=False))
config = functools.partial(case, Reader("config", "json", lines=True))
gguf = functools.partial(case, Reader("gguf", "gguf", lines=False))


def as_int(key, value=""):
    """Asks the root for the integer `key`; without a value, an error must come."""
    return f"int {key}={value}"


def as_double(key, value=""):
    return f"double {key}={value}"


def duplicates(count):
    return f"duplicates ={count}"


ROOT_AS_NUMBER = "number ="
