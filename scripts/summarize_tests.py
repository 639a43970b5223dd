"""Reads what `ctest --output-junit` wrote; prints which tests were skipped or failed, and how many there were."""
import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    if case.get("status") == "run":
        return "passed"
    return "skipped" if case.find("skipped") is not None and case.get("status") != "fail" else "failed"


def main(path):
    names = {"passed": [], "failed": [], "skipped": []}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        names[outcome(case)].append(case.get("name"))
    for kind in ("skipped", "failed"):
        for name in names[kind]:
            print(f"{kind}: {name}")
    print(", ".join(f"{len(names[kind])} {kind}" for kind in names))


main(sys.argv[1])
