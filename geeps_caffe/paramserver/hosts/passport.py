"""What all hosts of a run must have in common, compared before training."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.messages import PROTOCOL
from geeps_caffe.version import VERSION

#: What reading JSON of a stranger may raise.
NO_PASSPORT = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    OverflowError,
    RecursionError,
)


@dataclass(frozen=True)
class Passport:
    """Versions, the layout of the cluster, and hashes of the job's files."""

    counts: tuple[int, ...]  # workers of each host
    wire: str = "fp32"
    protocol: int = PROTOCOL
    version: str = VERSION
    byteorder: str = sys.byteorder
    job: Mapping[str, str] = field(default_factory=dict)  # what: hash or value

    def as_json(self) -> bytes:
        """One object."""
        return json.dumps(asdict(self)).encode()


def read_passport(data: bytes) -> Passport:
    """From JSON that `as_json` made.

    Raises:
        ParameterServerError: it is something else.
    """
    try:
        fields = json.loads(data)
        counts = tuple(int(count) for count in fields.pop("counts"))
        job = {_text(k): _text(v) for k, v in dict(fields.pop("job")).items()}
        protocol = int(fields.pop("protocol"))
        rest = {name: _text(value) for name, value in fields.items()}
        return Passport(counts, protocol=protocol, job=job, **rest)
    except NO_PASSPORT as error:
        raise ParameterServerError(f"not a greeting of an agent: {error}") from error


def _text(value: object) -> str:
    """A text that can be printed and sent on, whatever came."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where a text should be")
    return value.encode("utf-8", "replace").decode()


def compare(mine: Passport, theirs: Passport) -> list[str]:
    """One line for each difference."""
    one, other = _rows(mine), _rows(theirs)
    names = [*one, *(name for name in other if name not in one)]
    return [
        f"  {name}: {one.get(name, 'none')} and {other.get(name, 'none')}"
        for name in names
        if one.get(name) != other.get(name)
    ]


def check(mine: Passport, theirs: Passport, me: str, them: str) -> None:
    """They are of one job.

    Args:
        mine, theirs: this host's and another one's.
        me, them: the names of both.

    Raises:
        ParameterServerError: they are not; says what differs.
    """
    lines = compare(mine, theirs)
    if lines:
        raise ParameterServerError(
            f"it does not run the same job ({me} has the first value, {them} the "
            "second):\n" + "\n".join(lines)
        )


def _rows(passport: Passport) -> dict[str, str]:
    fields = asdict(passport)
    job = fields.pop("job")
    return {name: str(value) for name, value in fields.items()} | dict(job)
