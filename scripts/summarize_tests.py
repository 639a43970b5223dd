"""Reads what `ctest --output-junit` wrote; prints which tests were skipped or failed, what was left out of those that
ran and why, and how many there were."""
import re
import sys
import xml.etree.ElementTree as ElementTree

# What says why: pytest with -rs (one line for equal reasons), GTEST_SKIP() << "why", and echo "skipped: why".
REASONS = re.compile(r"^SKIPPED \[(?P<cases>\d+)\] (?P<pytest>.+)$|: Skipped\n(?P<gtest>.+)$|^skipped: (?P<echo>.+)$",
                     re.MULTILINE)


def outcome(case):
    if case.get("status") == "run":
        return "passed"
    skipped = case.find("skipped")
    # CTest also calls a test skipped whose executable is missing or whose fixture failed. That is a failure.
    asked_for = skipped is not None and skipped.get("message", "").startswith("SKIP_")
    return "skipped" if asked_for or case.get("status") == "disabled" else "failed"


def reasons(case):
    """(cases, why) of what a test left out."""
    found = REASONS.finditer(case.findtext("system-out") or "")
    return [(int(one["cases"] or 1), (one["pytest"] or one["gtest"] or one["echo"]).strip()) for one in found]


def lines(cases):
    names = {"passed": [], "failed": [], "skipped": []}
    left_out = []
    for case in cases:
        kind = outcome(case)
        name = case.get("name")
        why = reasons(case) if kind != "failed" else []
        if kind == "skipped" and why:
            name += ": " + "; ".join(reason for _, reason in why)
        elif kind == "passed":
            left_out += [f"skipped in {name}: {reason}" + (f" ({count} cases)" if count > 1 else "")
                         for count, reason in why]
        names[kind].append(name)
    yield from left_out
    for kind in ("skipped", "failed"):
        for name in names[kind]:
            yield f"{kind}: {name}"
    yield ", ".join(f"{len(names[kind])} {kind}" for kind in names)


if __name__ == "__main__":
    for line in lines(ElementTree.parse(sys.argv[1]).getroot().iter("testcase")):
        print(line)
