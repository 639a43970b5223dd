"""Runs the command line tool, and says what every one of its answers must be like."""
import json
import os
import pathlib
import pty
import subprocess
import sys
import unittest
from typing import NamedTuple

TOOL = os.environ["POSENC_TOOL"]
SOURCE_DIR = pathlib.Path(os.environ["POSENC_SOURCE_DIR"])
COLUMNS = 80
SKIPPED = 77  # CTest: SKIP_RETURN_CODE


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def posenc(*arguments, stdin=b"", environment=None, cwd=None, timeout=120):
    """Standard output and error are pipes: never a terminal. timeout: seconds."""
    env = {**os.environ, **(environment or {})}
    run = subprocess.run([TOOL, *map(str, arguments)], input=stdin, env=env, cwd=cwd, capture_output=True, timeout=timeout,
                         check=False)
    return Outcome(run.returncode, run.stdout.decode("utf-8"), run.stderr.decode("utf-8"))


def presets():
    return [preset["name"] for preset in json.loads(posenc("presets", "--json").out)["presets"]]


def pseudo_terminal():
    """(terminal, other end); skips the test that asks where there are none."""
    try:
        return pty.openpty()
    except OSError as absent:
        raise unittest.SkipTest(f"no pseudo-terminals here: {absent}") from None


def schema_validator(schema="plan"):
    """Skips the test that asks where Python has no jsonschema."""
    try:
        import jsonschema
    except ImportError:
        raise unittest.SkipTest("needs the Python module jsonschema") from None
    return jsonschema.Draft202012Validator(json.loads((SOURCE_DIR / f"docs/{schema}.schema.json").read_text()))


# A model so small that what is printed about it can be worked out by hand.
SMALL = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 3,
    "max_position_embeddings": 2048,
    "rope_theta": 10000.0,
}


def small(**changes):
    """The bytes of a config.json: SMALL with changes; None takes a key away."""
    merged = {**SMALL, **changes}
    return json.dumps({k: v for k, v in merged.items() if v is not None}, indent=2).encode()


class ToolTest(unittest.TestCase):
    def assert_fails(self, outcome, code, *fragments):
        """Nothing on standard output; one message, which starts with the tool's name and holds the fragments."""
        self.assertEqual(outcome.code, code, outcome)
        self.assertEqual(outcome.out, "")
        self.assertTrue(outcome.err.startswith("posenc: "), outcome.err)
        for fragment in fragments:
            self.assertIn(fragment, outcome.err)
        self.assert_safe(outcome.err)

    def assert_safe(self, text):
        """No control character but the line feed."""
        bad = {c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)}
        self.assertFalse(bad, repr(text))

    def assert_page(self, text):
        """What a person can read in 80 columns: safe, no line too long, no spaces at the end of one."""
        self.assertTrue(text.endswith("\n"))
        self.assert_safe(text)
        for line in text.splitlines():
            self.assertLessEqual(len(line), COLUMNS, line)
            self.assertEqual(line, line.rstrip())


def main():
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(SKIPPED)
    sys.exit(not result.wasSuccessful())
