"""The bytes of a plan's JSON do not depend on the processor: the C library takes other code for log, exp and pow where
there is FMA, and its results differ in the last bit."""
import concurrent.futures
import os
import pathlib
import unittest

import tool
from tool import posenc

DATA = pathlib.Path(os.environ.get("POSENC_TEST_DATA") or tool.SOURCE_DIR / "../shared/data")
# glibc's words; other C libraries do not look at them.
WITHOUT_FMA = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX2_Usable,-AVX512F"}


class Processors(tool.ToolTest):
    def assert_same_bytes(self, calls):
        def both(call):
            return call, posenc(*call), posenc(*call, environment=WITHOUT_FMA)

        with concurrent.futures.ThreadPoolExecutor(2) as workers:
            for call, with_fma, without in workers.map(both, calls):
                with self.subTest(call=[str(word) for word in call]):
                    self.assertEqual((with_fma.code, with_fma.err), (0, ""))
                    self.assertEqual(with_fma, without)

    def test_presets(self):
        self.assert_same_bytes([("inspect", name, "--json") for name in tool.presets()])

    def test_lengths(self):
        self.assert_same_bytes([("inspect", name, "--json", "--length", length) for length in (3000, 200000)
                                for name in ("phi-3.5-mini", "deepseek-v3", "llama-3.1-8b")])

    @unittest.skipUnless((DATA / "configs").is_dir(), f"needs {DATA / 'configs'}")
    def test_real_configs(self):
        self.assert_same_bytes([("inspect", path, "--json") for path in sorted((DATA / "configs").glob("*"))])


tool.main()
