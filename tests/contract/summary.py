"""The summary of ./test names every test that was skipped and every case that one left out, with its reason.

usage: summary.py CHECKOUT
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "scripts"))
import summarize_tests

RESULTS = """<testsuite>
<testcase name="math.Fine" status="run"><system-out>[       OK ]</system-out></testcase>
<testcase name="python.arrays" status="run"><system-out>..s.
SKIPPED [3] test_arrays.py:6: could not import 'jax'
SKIPPED [1] test_more.py:9: no network
3 passed, 1 skipped</system-out></testcase>
<testcase name="kernels.Many" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>
tests/kernels/conversions_test.cpp:198: Skipped
one vector instruction set at most

[  SKIPPED ] Many</system-out></testcase>
<testcase name="judges.torch" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>
skipped: build/judges is not there</system-out></testcase>
<testcase name="plan.Gone" status="notrun"><skipped message="Unable to find executable"/></testcase>
<testcase name="plan.Bad" status="fail"><system-out>SKIPPED [1] x.py:1: why</system-out></testcase>
</testsuite>"""

EXPECTED = [
    "skipped in python.arrays: test_arrays.py:6: could not import 'jax' (3 cases)",
    "skipped in python.arrays: test_more.py:9: no network",
    "skipped: kernels.Many: one vector instruction set at most",
    "skipped: judges.torch: build/judges is not there",
    "failed: plan.Gone",
    "failed: plan.Bad",
    "2 passed, 2 failed, 2 skipped",
]

found = list(summarize_tests.lines(ElementTree.fromstring(RESULTS).iter("testcase")))
if found != EXPECTED:
    sys.exit("the summary is\n" + "\n".join(found) + "\nand not\n" + "\n".join(EXPECTED))
