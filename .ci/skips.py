"""Fails when a test on a recording of Caffe, or on the corpus, was skipped.

Usage: skips.py TESTS.xml [all] (JUnit's form, as pytest writes it); with `all` every
skip is a failure.
"""

import sys
from collections.abc import Iterator
from xml.etree import ElementTree


def lost(path: str, every: bool) -> Iterator[str]:
    """The tests whose skip is a failure, with the reason of each."""
    for case in ElementTree.parse(path).iter("testcase"):
        skipped = case.find("skipped")
        if skipped is None:
            continue
        name = f"{case.get('classname')}::{case.get('name')}"
        reason = skipped.get("message") or ""
        if (
            every
            or "golden" in name
            or "recorded" in name
            or "GEEPS_CAFFE_CORPUS" in reason
        ):
            yield f"{name}: {reason}"


def main(path: str, which: str = "recordings") -> int:
    """Print what was lost; returns 1 if anything was."""
    found = list(lost(path, which == "all"))
    for line in found:
        print(f"skipped: {line}")
    print(f"{len(found)} skipped that must not be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
