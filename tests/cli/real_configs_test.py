"""Every real config.json of the test data: a page of 80 columns, JSON that the schema allows, or a clear error."""
import json
import os
import pathlib
import unittest

import tool
from tool import posenc

# Where tests/support/test_data.h looks, too.
DATA = pathlib.Path(os.environ.get("POSENC_TEST_DATA") or tool.SOURCE_DIR / "../shared/data")


def files(folder):
    return sorted((DATA / folder).glob("*")) if (DATA / folder).is_dir() else []


@unittest.skipUnless(files("configs"), f"needs {DATA / 'configs'}")
class RealConfigs(tool.ToolTest):
    def test_pages(self):
        for path in files("configs"):
            with self.subTest(config=path.name):
                got = posenc("inspect", path)
                self.assertEqual((got.code, got.err), (0, ""))
                self.assert_page(got.out)

    def test_json(self):
        validator = tool.schema_validator()
        for path in files("configs"):
            with self.subTest(config=path.name):
                got = posenc("inspect", "--json", path)
                self.assertEqual((got.code, got.err), (0, ""))
                validator.validate(json.loads(got.out))

    def test_comparisons(self):
        validator = tool.schema_validator("compare")
        paths = files("configs")
        for a, b in zip(paths, paths[1:] + paths[:1]):
            with self.subTest(a=a.name, b=b.name):
                same = posenc("compare", a, a)
                self.assertEqual((same.code, same.err), (0, ""))
                self.assert_page(same.out)
                page, data = posenc("compare", a, b), posenc("compare", a, b, "--json")
                self.assertIn(page.code, (0, 1), page.err)
                self.assert_page(page.out)
                self.assertEqual(data.code, page.code)
                validator.validate(json.loads(data.out))

    def test_odd_files(self):
        for path in files("odd") + files("gguf"):
            with self.subTest(file=path.name):
                got = posenc("inspect", path)
                self.assertIn(got.code, (0, 4), got.err)
                if got.code == 0:
                    self.assert_page(got.out)
                else:
                    self.assert_fails(got, 4, str(path))


tool.main()
