"""What the layers that read records have in common."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NoReturn

from geeps_caffe.data.order import salt
from geeps_caffe.data.packed import PackedFeed, packed_bytes
from geeps_caffe.data.reader import Reader
from geeps_caffe.data.sampler import Share, share
from geeps_caffe.data.staging import Staging
from geeps_caffe.data.transform import Transform
from geeps_caffe.device.array import ArrayModule, Shapes
from geeps_caffe.device.device import Device
from geeps_caffe.engines.functions import Functions
from geeps_caffe.errors import DataError
from geeps_caffe.layers.base import Blobs, Layer, Run


class SourceLayer(Layer):
    """A layer whose tops come from records, read ahead by threads.

    Subclasses have `open`. Rank r of N gets the records r, r + N, ... of the stream.
    """

    bottoms: ClassVar[tuple[int, int | None]] = (0, 0)
    tops: ClassVar[tuple[int, int | None]] = (1, 2)  # data, and label if it is named
    is_source: ClassVar[bool] = True
    backward_reads: ClassVar[frozenset[str]] = frozenset()

    reader: Reader
    length: int | None = None  # records of the source, where that is known
    varies = False  # each batch may have other shapes

    transform: Transform | None = None  # of pictures with labels, where they are that

    _shapes: Shapes | None = None
    _staging: Staging | None = None

    def open(self) -> tuple[Reader, Shapes]:
        """Open the source and look at its first record.

        Returns the reader and the shapes of the tops.

        Raises:
            ValueError, DataError: settings or records that are wrong.
        """
        raise NotImplementedError

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The tops' shapes; the first call opens the source."""
        del bottom
        if self._shapes is None:
            try:
                self.reader, self._shapes = self.open()
                self.reader.use_threads(self.setting.data_threads)
            except (ValueError, DataError) as error:
                self._fail(error)
        return self._shapes

    def pending_shapes(self) -> Shapes | None:
        """The shapes of the next batch, if they may differ from the last one's."""
        if not self.varies:
            return None
        try:
            self._shapes = self.reader.shapes()
        except DataError as error:
            self._fail(error)
        return self._shapes

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Copy the next batch into the tops."""
        del bottom
        try:
            if self._staging is not None:
                self._staging.fill([blob.data for blob in top])
                return
            batch = self.reader.next()
        except DataError as error:
            self._fail(error)
        for blob, values in zip(top, batch, strict=True):
            blob.data[...] = run.xp.asarray(values)

    def use_device(self, device: Device, xp: ArrayModule, functions: Functions) -> None:
        """From now on the tops are on a device that is not the host.

        Pictures go there as bytes, unless each batch may have a shape of its own.
        """
        if self._staging is not None:
            return
        transform = self.transform if self._packs else None
        if transform is not None:
            self.reader.feed = PackedFeed(self.reader.feed, transform)
        self._staging = Staging(self.reader, device, xp, functions, transform)

    @property
    def _packs(self) -> bool:
        return self.transform is not None and not self.varies

    def packed_bytes(self, tops: Shapes) -> int:
        """Bytes of a batch for a device, where it is one block of pictures; else 0.

        There one lies beside what is planned. Pictures of floats are told too early.
        """
        return packed_bytes(tops[0]) if self._packs else 0

    def record(self, item: int) -> str:
        """What an item of the present batch is, for messages."""
        return self.reader.name(item)

    def position(self) -> dict[str, int | None]:
        """How far the run has come, for a snapshot; the same on all ranks."""
        return self.reader.position()

    def restore(self, position: Mapping[str, Any]) -> str:
        """Go on at a saved position; returns a sentence for the log, or ""."""
        return self.reader.restore(position)

    def close(self) -> None:
        """Stop reading and give the files back."""
        if self._shapes is not None:
            self.reader.close()

    @property
    def training(self) -> bool:
        """Whether this is the layer of a net that is trained."""
        return self.setting.phase == "TRAIN"

    @property
    def use(self) -> int:
        """The salt of this layer's random numbers."""
        return salt(self.setting.phase, self.spec.name)

    def share(self, batch_size: int) -> Share:
        """This rank's share of the layer's batches."""
        setting = self.setting
        if setting.own_data:
            ranks = setting.ranks if setting.global_batch else 1
            return share(batch_size // ranks, 0, 1, False)
        if setting.whole_batches:
            found = share(batch_size, 0, 1, False)
            return replace(found, rank=setting.rank, ranks=setting.ranks, whole=True)
        return share(batch_size, setting.rank, setting.ranks, setting.global_batch)

    def _fail(self, error: Exception) -> NoReturn:
        raise DataError(f"{self.title}: {error}") from error
