"""Small GGUF files, good and bad, as of gguf_builder.h: of any version, either byte order, with counts that lie.

    Gguf().key("general.architecture", "llama").key("llama.block_count", 2).bytes()

What was written is found again by name: place("value of llama.block_count"), place("entry of rope_freqs.weight").
"""
import math
import struct

# By GGUF's numbers of the types of values.
KINDS = ("u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "text", "array", "u64", "i64", "f64")
FORMATS = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f", "bool": "B", "u64": "Q",
           "i64": "q", "f64": "d"}
F32, F16, Q8_0 = 0, 1, 8  # ggml's numbers of the types of tensors


def kind_of(value):
    if isinstance(value, list):
        return [kind_of(value[0])]
    return {bool: "bool", int: "u32", float: "f32", str: "text"}[type(value)]


class Gguf:
    def __init__(self, version=3, order="<", magic=b"GGUF", keys=None, tensors=None, alignment=32):
        """`keys` and `tensors`: counts to announce, whatever is there."""
        self._version, self._order, self._magic, self._alignment = version, order, magic, alignment
        self._announced = {"keys": keys, "tensors": tensors}
        self._count = {"keys": 0, "tensors": 0}
        self._part = {"keys": bytearray(), "tensors": bytearray()}
        self._data = b""
        self._places = {}

    def key(self, name, value, kind=None):
        """`kind`: of KINDS; [one] for an array; a number, and `value` is the bytes behind it. Without, what fits."""
        kind = kind_of(value) if kind is None else kind
        self._put_name("keys", name)
        if isinstance(kind, list):
            items = [self._packed(kind[0], item) for item in value]
            return self._put_array(name, kind[0], len(value))._append("keys", *items)
        if isinstance(kind, int):
            return self._put("keys", "type", name, "I", kind)._append("keys", value)
        self._put("keys", "type", name, "I", KINDS.index(kind))
        return self._note("keys", "value", name)._append("keys", self._packed(kind, value))

    def text_head(self, name, length):
        """A string's length, and nothing behind it."""
        self._put_name("keys", name)
        self._put("keys", "type", name, "I", KINDS.index("text"))
        return self._append("keys", self._length(length))._note("keys", "text", name)

    def array_head(self, name, kind, count):
        """An array's type and length, and nothing behind them."""
        self._put_name("keys", name)
        return self._put_array(name, kind, count)

    def tensor(self, name, shape, kind=F32, offset=None, dims=None, data=None):
        """Without `offset`, where ggml's rule puts it; without `data`, zeros of type F32."""
        begin = len(self._data) + -len(self._data) % self._alignment
        self._put_name("tensors", name)
        self._put("tensors", "dims", name, "I", len(shape) if dims is None else dims)
        for i, dim in enumerate(shape):
            self._note("tensors", f"dim {i}", name)._append("tensors", self._length(dim))
        self._put("tensors", "kind", name, "I", kind)
        self._put("tensors", "offset", name, "Q", begin if offset is None else offset)
        self._data = self._data.ljust(begin, b"\0") + (bytes(4 * math.prod(shape)) if data is None else data)
        return self

    def floats(self, name, values):
        return self.tensor(name, [len(values)], data=struct.pack(f"{self._order}{len(values)}f", *values))

    def header(self):
        """Magic, version, counts, keys, table."""
        counts = b"".join(self._length(self._count[part] if self._announced[part] is None else self._announced[part])
                          for part in ("tensors", "keys"))
        return b"".join([self._magic, struct.pack(self._order + "I", self._version), counts, *self._part.values()])

    def bytes(self):
        out = self.header()
        return out + bytes(-len(out) % self._alignment) + self._data if self._data else out

    def has(self, what):
        return what in self._places

    def place(self, what):
        """The offset of "WHAT of NAME", the last of that name: of a key its entry, name, type, value, text, items; of a
        tensor its entry, name, dims, dim N, kind, offset; and of "data", the weights."""
        if what == "data":
            return len(self.header()) + -len(self.header()) % self._alignment
        part, offset = self._places[what]
        behind = len(self._part["tensors"]) + (len(self._part["keys"]) if part == "keys" else 0)
        return len(self.header()) - behind + offset

    def _length(self, count):
        return struct.pack(self._order + ("I" if self._version == 1 else "Q"), count)

    def _packed(self, kind, value):
        if kind != "text":
            return struct.pack(self._order + FORMATS[kind], value)
        text = value.encode() if isinstance(value, str) else value
        return self._length(len(text)) + text

    def _append(self, part, *pieces):
        self._part[part] += b"".join(pieces)
        return self

    def _note(self, part, what, name):
        self._places[f"{what} of {name}"] = (part, len(self._part[part]))
        return self

    def _put(self, part, what, name, form, value):
        return self._note(part, what, name)._append(part, struct.pack(self._order + form, value))

    def _put_array(self, name, kind, count):
        self._put("keys", "type", name, "I", KINDS.index("array"))
        self._put("keys", "value", name, "I", KINDS.index(kind))
        return self._append("keys", self._length(count))._note("keys", "items", name)

    def _put_name(self, part, name):
        self._count[part] += 1
        text = name.encode() if isinstance(name, str) else name
        name = text.decode(errors="backslashreplace")
        self._note(part, "entry", name)._append(part, self._length(len(text)))
        self._note(part, "name", name)._append(part, text)
