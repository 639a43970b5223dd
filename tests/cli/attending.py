"""What tests of posenc attend have in common: queries, keys and values of tool.SMALL, and the command that takes them."""
import json
import pathlib
import tempfile

import tool
from tensors import random_tensor, read_npy, write_npy
from tool import posenc, small

HEADS, KEY_HEADS, CHANNELS = 4, 2, 16  # of tool.SMALL
QUERIES, KEYS = 3, 5


class AttendingTest(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.write_model(small())
        self.q = random_tensor((QUERIES, HEADS, CHANNELS), seed=1)
        self.k = random_tensor((KEYS, KEY_HEADS, CHANNELS), seed=2)
        self.v = random_tensor((KEYS, KEY_HEADS, CHANNELS), seed=3)

    def write_model(self, content, name="config.json"):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    def words(self, *words, model=None, out="out.npy", **given):
        """The command's words, with tensors (q, k, v unless given) through .npy files."""
        line = ["attend", "--model", model or self.model, "-o", self.folder / out]
        for flag in "qkv":
            tensor = given.get(flag, getattr(self, flag))
            write_npy(self.folder / f"{flag}.npy", tensor)
            line += [f"--{flag}", self.folder / f"{flag}.npy"]
            line += ["--bf16"] if tensor.dtype == "bf16" and "--bf16" not in line else []
        return [*line, *words]

    def attended(self, *words, **given):
        got = posenc(*self.words(*words, "--force", "--check", **given))
        self.assertEqual((got.code, got.err), (0, ""))
        self.assert_page(got.out)
        return read_npy(self.folder / "out.npy")
