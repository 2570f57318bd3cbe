"""PyTorch's DataLoader on Caffe's databases, as people write it."""

import time

import cv2
import lmdb
import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from prototxt import Datum

MEAN = np.array([104.0, 117.0, 123.0], np.float32)[:, None, None]


class Records(Dataset[tuple[Tensor, int]]):
    """Records of an LMDB: a random crop, perhaps mirrored, less the mean."""

    def __init__(self, path: str, records: int, crop: int) -> None:
        self._path, self._records, self._crop = path, records, crop
        self._transaction: lmdb.Transaction | None = None

    def __len__(self) -> int:
        return self._records

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        if self._transaction is None:  # one for each worker
            environment = lmdb.open(self._path, readonly=True, lock=False)
            self._transaction = environment.begin(buffers=True)
        record = self._transaction.get(f"{index:08}".encode())
        datum = Datum.FromString(bytes(record))
        image = np.frombuffer(datum.data, np.uint8)
        if datum.encoded:
            image = cv2.imdecode(image, cv2.IMREAD_COLOR).transpose(2, 0, 1)
        else:
            image = image.reshape(3, datum.height, datum.width)
        y, x = np.random.randint(0, 256 - self._crop + 1, 2)
        image = image[:, y : y + self._crop, x : x + self._crop]
        if np.random.randint(2):
            image = image[:, :, ::-1]
        return torch.from_numpy(image - MEAN), datum.label


def records_per_second(
    path: str, records: int, crop: int, batch: int, workers: int
) -> float:
    """Of one pass, after the first batch."""
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    loader = DataLoader(
        Records(path, records, crop), batch_size=batch, num_workers=workers
    )
    batches = iter(loader)
    next(batches)
    start, done = time.perf_counter(), 0
    for images, _ in batches:
        done += len(images)
    return done / (time.perf_counter() - start)
