"""What a run has counted, for people and as JSON."""

import json
from pathlib import Path

from geeps_caffe.errors import InputError
from geeps_caffe.execution.training import Training


def stats_line(training: Training) -> str:
    """Data, and all tables together, in a line of the log."""
    tables = training.client.stats_by_table()
    waited = sum(table.wait_seconds for table in tables.values())
    pulled = sum(table.pull_bytes for table in tables.values())
    pushed = sum(table.push_bytes for table in tables.values())
    return (
        f"waited {training.sources.waited():.3f} s for data and {waited:.3f} s for "
        f"tables, read {pulled / 1e6:.1f} MB, handed in {pushed / 1e6:.1f} MB"
    )


def write_stats(training: Training, path: str) -> None:
    """Write all counters; a rank above 0 to a file with its number at the end.

    Raises:
        InputError: the file can't be written.
    """
    if not path:
        return
    rank = training.settings.rank
    name = f"{path}.{rank}" if rank else path
    content = json.loads(training.client.stats())
    content["layers"] = training.layer_seconds
    content["data_wait_seconds"] = training.sources.waited()
    try:
        Path(name).write_text(json.dumps(content, indent=1) + "\n")
    except OSError as error:
        raise InputError(f"{name}: can't write statistics: {error.strerror}") from error
