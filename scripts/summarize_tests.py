"""Reads what `ctest --output-junit` wrote; prints which tests were skipped or failed, and how many there were."""
import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    if case.get("status") == "run":
        return "passed"
    skipped = case.find("skipped")
    # CTest also calls a test skipped whose executable is missing or whose fixture failed. That is a failure.
    asked_for = skipped is not None and skipped.get("message", "").startswith("SKIP_")
    return "skipped" if asked_for or case.get("status") == "disabled" else "failed"


def main(path):
    names = {"passed": [], "failed": [], "skipped": []}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        names[outcome(case)].append(case.get("name"))
    for kind in ("skipped", "failed"):
        for name in names[kind]:
            print(f"{kind}: {name}")
    print(", ".join(f"{len(names[kind])} {kind}" for kind in names))


main(sys.argv[1])
