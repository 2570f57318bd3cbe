"""What workers of one job must have in common, and what they do about it."""

import logging
import zlib

from geeps_caffe.engines.engine import plain_layout
from geeps_caffe.errors import DataError
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.layers.source import SourceLayer
from geeps_caffe.paramserver import Client

_LOG = logging.getLogger(__name__)
_HALF = 1 << 20  # of a number of records: thousands of squares have an exact sum


def agree_on_layouts(net: PlannedNet, client: Client) -> None:
    """Put params of tables in C order if the workers would lay them out differently.

    So it is where some compute on a GPU and some on a CPU, or on CPUs of several
    kinds. All workers must call it, before the tables are made.
    """
    if client.ranks == 1 or _all_alike(layout_text(net), client):
        return
    dtype = net.options.dtype
    plain = {
        key: plain_layout(param.shape, dtype) for key, param in net.graph.params.items()
    }
    net.use_layouts(plain)
    _LOG.warning(
        "the workers' engines lay params out differently: all are in C order, which "
        "costs some of them reorders"
    )


def check_records(net: PlannedNet, client: Client, what: str = "") -> None:
    """See to it that all workers read sources of the same length.

    All workers must call it. Numbers are equal where their squares' sum is the least
    that their sum allows, so all come to the same answer. These sums must be exact, so
    each number is told in two halves.

    Args:
        net: the training net, or a test net whose batches the workers share.
        client: of all workers.
        what: names the net, before the layer.

    Raises:
        DataError: they are not; it says what this worker has.
    """
    layers = [node.layer for node in net.graph.nodes]
    known = [y for y in layers if isinstance(y, SourceLayer) and y.length is not None]
    if client.ranks == 1 or not known:
        return
    told: list[float] = []
    for layer in known:
        high, low = divmod(layer.length or 0, _HALF)
        told += (high, low, high * high, low * low)
    found = [int(x) for x in client.total(told)]
    for i, layer in enumerate(known):
        high, low, high_squares, low_squares = found[4 * i : 4 * i + 4]
        if (
            high_squares * client.ranks != high**2
            or low_squares * client.ranks != low**2
        ):
            raise DataError(
                f"{what}{layer.title}: this worker (rank {client.rank}) finds "
                f"{layer.length:,} records, all {client.ranks} workers together "
                f"{high * _HALF + low:,}; all must read the same data (or each its "
                "own, where the net's file is one for each worker, such as "
                "net.prototxt.0)"
            )


def layout_text(net: PlannedNet) -> str:
    """How the params of tables are laid out."""
    return "; ".join(f"{key} {net.layouts[key].name}" for key in net.table_of)


def _all_alike(text: str, client: Client) -> bool:
    """Whether a text is the same on all workers; all get the same answer.

    Sums are exact: they are of whole numbers far below 2^53.
    """
    mine = zlib.crc32(text.encode())
    (total,) = client.total([float(mine)])
    (others,) = client.total([float(total != client.ranks * mine)])
    return others == 0
