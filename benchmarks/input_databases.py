"""The databases of the input benchmark: pictures of 256x256, JPEG and raw."""

import itertools
from pathlib import Path

import cv2

from geeps_caffe.data.database_writer import DatabaseWriter
from prototxt import Datum

SIDE = 256
KINDS = ("jpeg", "raw")


def make_databases(folder: Path, corpus: Path, records: int) -> None:
    """Write one LMDB of each kind; the pictures repeat."""
    paths = sorted((corpus / "data" / "imagenet_sample" / "images").rglob("*.*"))
    for kind in KINDS:
        with DatabaseWriter(str(folder / kind), "lmdb") as writer:
            for i, path in zip(range(records), itertools.cycle(paths), strict=False):
                writer.put(f"{i:08}", _record(path, kind, i))
            writer.finish()


def _record(path: Path, kind: str, label: int) -> bytes:
    image = cv2.resize(cv2.imread(str(path)), (SIDE, SIDE))
    datum = Datum(channels=3, height=SIDE, width=SIDE, label=label % 1000)
    if kind == "raw":
        datum.data = image.transpose(2, 0, 1).tobytes()
    else:
        done, file = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 95])
        assert done
        datum.data, datum.encoded = file.tobytes(), True
    return datum.SerializeToString()
