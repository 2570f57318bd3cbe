"""What all workers must agree on before they share anything, and its digest."""

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from geeps_caffe.config.exact import MOST_PARAMS
from geeps_caffe.errors import InputError, ParameterServerError, unknown
from geeps_caffe.paramserver.given import real, text
from geeps_caffe.paramserver.table import MOST_SLACK, Segment, Table
from geeps_caffe.solvers import RULES, Hyper, Rule, find_rule

ADD = "add"  # GeePS's own: workers send finished updates, the shard adds them
REDUCTIONS = ("mean", "sum")
ASYNC = -1  # a slack without bound: updates count when they arrive


@dataclass(frozen=True)
class Scheme:
    """Tables, and how the updates of several workers become one.

    `hyper` holds the numbers of the rules; its rate and iteration change by clock.
    `gathered` says that the workers of this host add their updates up themselves, and
    that the first of them hands the sum in: the others' count as zeros. Hosts may
    differ in it.
    """

    tables: tuple[Table, ...]
    rule: str = ADD
    reduce: str = "mean"
    hyper: Hyper = field(default_factory=lambda: Hyper(rate=0.0))
    gathered: bool = False

    def __post_init__(self) -> None:
        """Check names; see to it that each table's rule can use the numbers."""
        self._check_kinds()
        if not self.tables:
            raise ParameterServerError("no tables: there is nothing to share")
        self._check_names()
        for i, table in enumerate(self.tables):
            if self.reduce_of(i) not in REDUCTIONS:
                raise ParameterServerError(
                    f"table {table.name!r}: "
                    + unknown("reduction", self.reduce_of(i), REDUCTIONS)
                )
            rule = self.rule_of(i)
            if rule is not None:
                rule.check(self.hyper)
        if self.gathered and any(table.slack for table in self.tables):
            raise ParameterServerError(
                "workers that add their updates up themselves are all in the same "
                "clock: no table can have slack"
            )
        if self.hyper.clips and any(t.slack == ASYNC for t in self.tables):
            raise ParameterServerError(
                "clip_gradients needs the updates of all tables of a clock, which a "
                "table without bound on its slack does not wait for"
            )

    def _check_kinds(self) -> None:
        if not isinstance(self.hyper, Hyper):
            raise ParameterServerError(f"hyper is {self.hyper!r}; expected a Hyper")
        for name, value in asdict(self.hyper).items():
            (text if name == "regularization_type" else real)(f"hyper: {name}", value)
        for name in ("rule", "reduce"):
            text(name, getattr(self, name))
        if not isinstance(self.gathered, bool):
            raise ParameterServerError(
                f"gathered is {self.gathered!r}; expected True or False"
            )
        for table in self.tables:
            if not isinstance(table, Table):
                raise ParameterServerError(f"{table!r} is no Table")
            if not ASYNC <= table.slack <= MOST_SLACK:
                raise ParameterServerError(
                    f"table {table.name!r}: slack is {table.slack}; expected 0 to "
                    f"{MOST_SLACK} clocks, or {ASYNC} for no bound"
                )

    def _check_names(self) -> None:
        names = [table.name for table in self.tables]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ParameterServerError(f"two tables have the name {twice[0]!r}")

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The place of each table by its name."""
        return {table.name: i for i, table in enumerate(self.tables)}

    def find(self, name: str) -> int:
        """The place of the table of this name, or an error with the nearest one."""
        if not isinstance(name, str) or name not in self.index:
            raise ParameterServerError(unknown("table", str(name), self.index))
        return self.index[name]

    def rule_of(self, table: int) -> Rule | None:
        """The solver rule of a table; None where updates are just added."""
        name = self.tables[table].rule or self.rule
        if name == ADD:
            return None
        try:
            return find_rule(name)
        except InputError as error:
            raise ParameterServerError(unknown("rule", name, [ADD, *RULES])) from error

    def reduce_of(self, table: int) -> str:
        """`mean` or `sum`."""
        return self.tables[table].reduce or self.reduce

    def slots_of(self, table: int) -> int:
        """How many history arrays the table's rule keeps."""
        rule = self.rule_of(table)
        return 0 if rule is None else len(rule.slots)

    @property
    def exact(self) -> bool:
        """Whether one process is to update weights to the same bits as a shard."""
        padded = sum(table.elements for table in self.tables)
        return padded <= 2 * MOST_PARAMS

    @cached_property
    def text(self) -> str:
        """One line a fact, for people: what a digest is made of."""
        lines = [f"rule {self.rule}, reduce {self.reduce}"]
        constants = replace(self.hyper, rate=0.0, iteration=0)
        lines += [f"{name} {value}" for name, value in asdict(constants).items()]
        for table in self.tables:
            lines.append(
                f"table {table.name}: {table.rows} rows of {table.row_width} "
                f"{table.dtype}, size {table.size}, layout {table.layout}, "
                f"slack {table.slack}, rule {table.rule}, reduce {table.reduce}"
            )
            lines += [f"  {_describe(segment)}" for segment in table.segments]
        return "\n".join(lines)

    @property
    def digest(self) -> str:
        """Equal for equal schemes, on any machine."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def _describe(segment: Segment) -> str:
    return (
        f"{segment.name}: elements {segment.offset} to {segment.stop}, "
        f"lr_mult {segment.lr_mult:g}, decay_mult {segment.decay_mult:g}"
    )


def difference(mine: str, theirs: str, my_name: str, their_name: str) -> str:
    """The lines in which two schemes' texts differ, at most 20 of them."""
    lines = list(
        difflib.unified_diff(
            mine.splitlines(), theirs.splitlines(), my_name, their_name, "", "", 0, ""
        )
    )
    more = [f"... and {len(lines) - 20} more lines"] if len(lines) > 20 else []
    return "\n".join(lines[:20] + more)


def write_scheme(scheme: Scheme) -> str:
    """As JSON."""
    return json.dumps(asdict(scheme))


def read_scheme(text: str) -> Scheme:
    """From JSON that `write_scheme` made.

    Raises:
        ParameterServerError: the text is not a scheme.
    """
    try:
        fields = json.loads(text)
        tables = tuple(_read_table(table) for table in fields.pop("tables"))
        hyper = Hyper(**fields.pop("hyper"))
        return Scheme(tables=tables, hyper=hyper, **fields)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ParameterServerError(f"not a scheme of tables: {error}") from error


def _read_table(fields: dict[str, Any]) -> Table:
    segments = tuple(Segment(**segment) for segment in fields.pop("segments"))
    return Table(segments=segments, **fields)
