"""A worker's first words, as an agent checks them."""

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.messages import (
    PROTOCOL,
    Hello,
    Lost,
    Message,
    Outgoing,
    Refused,
)


def check_hello(hello: Hello, rank: int, ranks: int) -> None:
    """The worker is of this version and of this run.

    Raises:
        ParameterServerError: it is not; says what both have.
    """
    if hello.protocol != PROTOCOL:
        raise ParameterServerError(
            f"rank {rank} speaks protocol {hello.protocol}, this agent {PROTOCOL}; "
            "install one version everywhere"
        )
    if hello.ranks != ranks:
        raise ParameterServerError(
            f"rank {rank} is one of {hello.ranks}, this agent serves {ranks}"
        )


def answer_late(rank: int, message: Message, failure: str, refused: bool) -> Outgoing:
    """What a worker hears that says something after the end: who joins, why it is over.

    Args:
        rank, message: the worker and what it says.
        failure: why the run is over.
        refused: it is the program's fault, nobody died.
    """
    if not isinstance(message, Hello):
        return []
    return [(rank, Refused(failure) if refused else Lost(failure))]
