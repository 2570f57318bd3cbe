"""The key of a cluster: whoever has it may take part. One file, copied to all hosts."""

import os
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from geeps_caffe.errors import InputError, UsageError

_LENGTH = 40  # characters of a CURVE key in Z85


@dataclass(frozen=True)
class ClusterKey:
    """A CURVE pair that all agents of a cluster have in common."""

    public: bytes
    secret: bytes


def zmq_module() -> ModuleType:
    """The `zmq` module.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import zmq  # noqa: PLC0415  only several hosts need it
        import zmq.utils.monitor  # noqa: PLC0415
        import zmq.utils.z85  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "several hosts need ZeroMQ: pip install 'geeps-caffe[cluster]'"
        ) from error
    return zmq


def make_key() -> ClusterKey:
    """A new pair."""
    public, secret = zmq_module().curve_keypair()
    return ClusterKey(public, secret)


def write_key(path: Path, key: ClusterKey) -> None:
    """Write a key that only its owner can read.

    Raises:
        InputError: there is such a file, or it can't be written.
    """
    text = (
        "# Key of a geeps-caffe cluster. Copy it to all hosts; show it to nobody.\n"
        f"public {key.public.decode()}\nsecret {key.secret.decode()}\n"
    )
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(path, flags, 0o600), "w") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path}: can't write a key: {error.strerror}") from error


def read_key(path: Path) -> ClusterKey:
    """The key in a file.

    Raises:
        InputError: it is missing, can be read by others, or holds no whole key.
    """
    try:
        mode = path.stat().st_mode
        rows = [row.split() for row in path.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't read the cluster's key: {error}") from error
    if mode & 0o077:
        raise InputError(
            f"{path}: other users may read this key; run: chmod 600 {path}"
        )
    found = {row[0]: row[1] for row in rows if len(row) == 2 and row[0] != "#"}
    public, secret = found.get("public", "").encode(), found.get("secret", "").encode()
    if not _is_pair(public, secret):
        raise InputError(
            f"{path}: no key of a cluster; make one with: geeps-caffe keygen FILE"
        )
    return ClusterKey(public, secret)


def _is_pair(public: bytes, secret: bytes) -> bool:
    """Whether these are the two halves of a key."""
    zmq = zmq_module()
    if len(public) != _LENGTH or len(secret) != _LENGTH:
        return False
    try:
        return bool(zmq.curve_public(secret) == public)
    except (ValueError, KeyError, zmq.ZMQError):  # other characters than Z85's
        return False
