"""extract_features: what blobs of a net hold for many batches, as databases."""

import logging
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from geeps_caffe.commands.given_files import check_weights
from geeps_caffe.commands.planning import read_model, unbound_net
from geeps_caffe.config.flags import Flag, parse, usage
from geeps_caffe.config.job import RunSettings
from geeps_caffe.data.database_writer import WRITERS, DatabaseWriter
from geeps_caffe.data.datum import write_floats
from geeps_caffe.device.array import Array
from geeps_caffe.engines.table import count_gpus
from geeps_caffe.errors import EXIT_FAILURE, UsageError, unknown
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.tester import forward_outputs
from geeps_caffe.execution.weights import copy_weights, fill_params, left_out
from geeps_caffe.graph.remarks import log_remarks

FLAGS = (Flag("help", False, "Show this help"),)
_USAGE = """extract_features: Write what blobs of a net hold to databases.
Usage:
    extract_features [FLAGS] WEIGHTS NET BLOB[,BLOB...] DB[,DB...] BATCHES \
lmdb|leveldb [CPU|GPU] [DEVICE_ID]

  Flags:
"""
_RECORD_AXES = 3  # channels, height, width
_TOLD = 1000  # records between two log lines
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """What the words of the command line ask for."""

    weights: str
    model: str
    databases: dict[str, str]  # by blob
    batches: int
    backend: str
    gpu: int | None = None  # None: the CPU


def main(argv: Sequence[str]) -> int:
    """Run the net in phase TEST; each record of each blob becomes one of a database."""
    line = parse(argv, FLAGS, "extract_features")
    if line.switch("help") or not 6 <= len(line.words) <= 8:
        print(_USAGE + usage(FLAGS))
        return EXIT_FAILURE
    job = read_job(line.words)
    check_weights(job.weights)
    _, named = read_model(job.model, "TEST", 0, ())
    for note in named.notes:
        _log.log(
            logging.INFO if note.severity == "I" else logging.WARNING, "%s", note.text
        )
    for warning in named.warnings:
        _log.warning("%s", warning)
    with unbound_net(named, _settings(job.gpu), keep=tuple(job.databases)) as net:
        log_remarks(net.graph)
        fill_params(net, net.seed)
        for layer in copy_weights(net, job.weights):
            _log.info("Ignoring source layer %s", layer)
        for text in left_out(net, [job.weights]):
            _log.warning("%s", text)
        extract(net, job)
    return 0


def read_job(words: Sequence[str]) -> Job:
    """The job that Caffe's six to eight words describe.

    Raises:
        UsageError: they do not fit together, or one is out of range.
    """
    weights, model, blobs, paths, batches, backend, *device = words
    names, databases = blobs.split(","), paths.split(",")
    places = {os.path.realpath(path) for path in databases}
    if not len(names) == len(set(names)) == len(databases) == len(places):
        raise UsageError(
            f"blobs are {blobs!r}, databases {paths!r}; give a database for each blob, "
            "and each of them once"
        )
    if backend not in WRITERS:
        raise UsageError(unknown("kind of database", backend, WRITERS))
    if device and device[0] not in ("CPU", "GPU"):
        raise UsageError(f"the device is {device[0]!r}; expected CPU or GPU")
    number = _at_least(0, device[1] if len(device) > 1 else "0", "DEVICE_ID")
    gpu = number if device and device[0] == "GPU" else None
    together = dict(zip(names, databases, strict=True))
    count = _at_least(1, batches, "BATCHES")
    return Job(weights, model, together, count, backend, gpu)


def _at_least(least: int, word: str, name: str) -> int:
    if not word.isdecimal() or int(word) < least:
        raise UsageError(f"{name} is {word!r}; expected a number of at least {least}")
    return int(word)


def _settings(gpu: int | None) -> RunSettings:
    if gpu is not None and count_gpus():
        _log.info("Using GPU")
        _log.info("Using Device_id=%d", gpu)
        return RunSettings(engine="cuda", gpu=gpu)
    if gpu is not None:
        _log.warning("GPU, but there is no usable one here: computing on the CPU")
    _log.info("Using CPU")
    return RunSettings()


def extract(net: PlannedNet, job: Job) -> None:
    """Run the batches and write the databases; each appears once it is whole."""
    with ExitStack() as stack:
        writers: dict[str, DatabaseWriter] = {}
        for blob, path in job.databases.items():
            _log.info("Opening dataset %s", path)
            writers[blob] = stack.enter_context(DatabaseWriter(path, job.backend))
        _log.info("Extracting Features")
        for batch in range(job.batches):
            forward_outputs(net, batch)
            for blob, writer in writers.items():
                _write(blob, records_of(net, blob), writer)
        for blob, writer in writers.items():
            if writer.written % _TOLD:
                _tell(blob, writer)
            writer.finish()
    _log.info("Successfully extracted the features!")


def records_of(net: PlannedNet, blob: str) -> Array:
    """What a blob holds, (records, channels, height, width).

    Axes that it lacks count as 1, as Caffe's tool has it.

    Raises:
        UsageError: it has more axes.
    """
    value = net.graph.last_value(blob).name
    held = np.asarray(net.executor.value(value), np.float32)
    if held.ndim > 1 + _RECORD_AXES:
        raise UsageError(
            f"blob {blob!r} has the shape {held.shape}; records have {_RECORD_AXES} "
            "axes: reshape it to four in the net"
        )
    return held.reshape(held.shape + (1,) * (1 + _RECORD_AXES - held.ndim))


def _write(blob: str, records: Array, writer: DatabaseWriter) -> None:
    for record in records:
        writer.put(f"{writer.written:010d}", write_floats(record))
        if writer.written % _TOLD == 0:
            _tell(blob, writer)


def _tell(blob: str, writer: DatabaseWriter) -> None:
    text = "Extracted features of %d query images for feature blob %s"
    _log.info(text, writer.written, blob)
