"""The tables of `equality`: what was found, beside what was asked for."""

import datetime
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
    lines = []
    for dtype in ("float32", "float64"):
        lines += [*table({c: r for c, r in found.items() if c.dtype == dtype}), ""]
    lines.append(sameness(found))
    print("\n".join(lines))
    if write:
        when = f"{datetime.date.today()}: `python -m benchmarks.equality {words}`."
        append(["", "## N workers and one", "", when, "", *lines])


def table(found):
    """The largest difference over all seeds, by count of workers."""
    if not found:
        return
    rows, controls = defaultdict(lambda: defaultdict(list)), defaultdict(list)
    for case, record in found.items():
        key = case.dtype, case.net, case.solver, bound(case)
        rows[key][case.workers].append(record["difference"])
        controls[key] += [record["nudged"]] if "nudged" in record else []
    counts = sorted({count for row in rows.values() for count in row})
    heads = " | ".join(f"{count} workers" for count in counts)
    yield f"| | bound | {heads} | one, nudged |"
    yield "|---" * (3 + len(counts)) + "|"
    for (dtype, net, solver, limit), row in rows.items():
        cells = " | ".join(f"{max(row[c]):.1e}" if row[c] else "" for c in counts)
        control = controls[dtype, net, solver, limit]
        apart = f"{max(control):.0e}" if control else ""
        yield f"| {dtype}, {net}, {solver} | {limit:.0e} | {cells} | {apart} |"


def sameness(found):
    """How many jobs were run twice, and ended alike to the last bit."""
    twice = [record["same"] for record in found.values() if "same" in record]
    return f"Run twice: {len(twice)} jobs; equal to the last bit: {sum(twice)}."
