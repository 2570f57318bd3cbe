"""The tables of `equality`: what was found, beside what was asked for."""

import datetime
import statistics
from collections import defaultdict

from benchmarks.results import append

DOUBLE = 1e-9  # the bound in double precision
LOOSE = 2e-4  # in single precision, of rules that divide by the gradient's own size
TIGHT = 1e-5  # of all others


def bound(case):
    """The largest difference that is asked for."""
    if case.dtype == "float64":
        return DOUBLE
    return LOOSE if case.solver in ("AdaGrad", "RMSProp") else TIGHT


def write_tables(found, words, write):
    """Print the tables, and append them to RESULTS.md."""
    lines = [*double(found), "", *single(found), "", sameness(found)]
    print("\n".join(lines))
    if write:
        when = f"{datetime.date.today()}: `python -m benchmarks.equality {words}`."
        append(["", "## N workers and one", "", when, "", *lines])


def double(found):
    """The table in double precision: one number for all counts of workers."""
    rows = defaultdict(dict)
    for (case, what), record in found.items():
        if case.dtype == "float64":
            rows[case.net, case.solver][what] = record["difference"]
    counts = sorted({what for row in rows.values() for what in row}, key=int)
    heads = " | ".join(f"{count} workers" for count in counts)
    yield f"| float64, reference engine | {heads} |"
    yield "|---" * (1 + len(counts)) + "|"
    for (net, solver), row in rows.items():
        cells = " | ".join(f"{row[c]:.1e}" if c in row else "" for c in counts)
        yield f"| {net}, {solver} | {cells} |"


def single(found):
    """The table in single precision: within the bound / all, median and largest."""
    rows = defaultdict(lambda: defaultdict(list))
    bounds = {}
    for (case, what), record in found.items():
        if case.dtype == "float32":
            key = case.net, case.solver
            rows[key][what == "nudged", case.smooth].append(record["difference"])
            bounds[key] = bound(case)
    yield (
        "| float32, onednn: within the bound, median, largest | bound | N workers and "
        "one | one, nudged | N workers and one, smooth | one, nudged, smooth |"
    )
    yield "|---" * 6 + "|"
    kinds = ((False, False), (True, False), (False, True), (True, True))
    for key, row in rows.items():
        cells = " | ".join(_cell(row[kind], bounds[key]) for kind in kinds)
        yield f"| {', '.join(key)} | {bounds[key]:.0e} | {cells} |"


def _cell(numbers, limit):
    if not numbers:
        return ""
    within = sum(number <= limit for number in numbers)
    middle, most = statistics.median(numbers), max(numbers)
    return f"{within} of {len(numbers)}, {middle:.0e}, {most:.0e}"


def sameness(found):
    """How many jobs were run twice, and ended alike to the last bit."""
    twice = [record["same"] for record in found.values() if "same" in record]
    return f"Run twice: {len(twice)} jobs; equal to the last bit: {sum(twice)}."
