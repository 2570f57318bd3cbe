"""Starting the workers of this host; this process is their agent until they end.

What an agent consists of is imported here, late: a worker alone has none.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from geeps_caffe.paramserver.cluster import Cluster
from geeps_caffe.paramserver.limits import Limits


def launch(
    command: Sequence[str],
    workers: int,
    log_folder: Path,
    limits: Limits | None = None,
    environ: Mapping[str, str] | None = None,
) -> int:
    """Run `command` as ranks 0 to workers - 1 of one host; returns the exit code.

    Rank 0 has this process's standard output and error; the others write to
    `rank<r>.log` in `log_folder`. SIGINT, SIGTERM and SIGHUP are passed on to all,
    whose business it is to end in the same clock (`Client.request`).

    Returns:
        0 if all workers ended so. EXIT_PEER_LOST if one was killed, fell silent or
        got stuck; else the exit code of the first worker that failed.
    """
    from geeps_caffe.paramserver import launcher  # noqa: PLC0415

    limits = limits or Limits()
    return launcher.run_workers(command, workers, log_folder, limits, environ)


def launch_host(
    command: Sequence[str],
    cluster: Cluster,
    log_folder: Path,
    limits: Limits | None = None,
    environ: Mapping[str, str] | None = None,
) -> int:
    """Run `command` as the ranks of this host of a cluster; as `launch`.

    Each host's agent must be started so. All end alike.

    Raises:
        UsageError: a key is needed, or the port is taken.
        InputError: the name of a host is not known.
    """
    from geeps_caffe.paramserver import launcher  # noqa: PLC0415

    limits = limits or Limits()
    return launcher.run_host(command, cluster, log_folder, limits, environ)
