"""convert_imageset: a database of Datum records from a list of image files."""

import logging
import os
from collections.abc import Sequence

from geeps_caffe.config.flags import CommandLine, Flag, parse, usage
from geeps_caffe.data.database_writer import WRITERS, DatabaseWriter
from geeps_caffe.data.datum import write_datum, write_encoded
from geeps_caffe.data.decode import Colour, decode_file, encode, read_file, resize
from geeps_caffe.data.image_list import Listed, read_image_list
from geeps_caffe.data.order import permutation, salt
from geeps_caffe.device.array import Array
from geeps_caffe.errors import EXIT_FAILURE, DataError, UsageError
from geeps_caffe.files import write_bytes

FLAGS = (
    Flag(
        "backend", "lmdb", "The kind of database to write: lmdb or leveldb", (*WRITERS,)
    ),
    Flag("gray", False, "Read all images as greyscale ones"),
    Flag("shuffle", False, "Write the images in a random order"),
    Flag("seed", 1, "Seed of -shuffle"),
    Flag("resize_width", 0, "Width the images are resized to; 0 leaves it"),
    Flag("resize_height", 0, "Height the images are resized to; 0 leaves it"),
    Flag("check_size", False, "Stop if two images differ in size"),
    Flag("encoded", False, "Store image files instead of pixels"),
    Flag("encode_type", "", "Type of the stored image files, such as png or jpg"),
    Flag("allow_missing", False, "Missing or broken images are no failure"),
    Flag("skip_list", "", "File to write the lines of missing or broken images to"),
    Flag("help", False, "Show this help"),
)
_USAGE = """convert_imageset: Convert a list of images to a database that Caffe reads.
Usage:
    convert_imageset [FLAGS] ROOTFOLDER/ LISTFILE DB_NAME

LISTFILE has a line "name label" for each image.

  Flags:
"""
_log = logging.getLogger(__name__)


def main(argv: Sequence[str]) -> int:
    """Convert; 0 if every image was written (or -allow_missing is given)."""
    line = parse(argv, FLAGS, "convert_imageset")
    if line.switch("help") or len(line.words) < 3:
        print(_USAGE + usage(FLAGS))
        return EXIT_FAILURE
    root, listfile, database = line.words[:3]
    if bool(line["resize_width"]) != bool(line["resize_height"]):
        raise UsageError("give both -resize_width and -resize_height, or none")
    if line["encode_type"] and not line["encoded"]:
        _log.info("encode_type specified, assuming encoded=true.")
    images = _order(read_image_list(listfile), line)
    _log.info("A total of %d images.", len(images))
    skipped = _convert(images, root, database, line)
    return _summary(images, skipped, line)


def _order(images: list[Listed], line: CommandLine) -> list[Listed]:
    if not line.switch("shuffle"):
        return images
    _log.info("Shuffling data")
    order = permutation(len(images), line.integer("seed"), salt("convert"), 0)
    return [images[i] for i in order]


def _convert(
    images: Sequence[Listed], root: str, database: str, line: CommandLine
) -> list[Listed]:
    """Write all images that can be read; returns the others."""
    skipped: list[Listed] = []
    converter = _Converter(line)
    with DatabaseWriter(database, line.text("backend")) as writer:
        _log.info("Opened %s %s", line.text("backend"), database)
        for number, listed in enumerate(images):
            try:
                record = converter.record(root + listed.name, listed.label)
            except DataError as error:
                _log.error("%s", error)
                skipped.append(listed)
                continue
            writer.put(f"{number:08d}_{listed.name}", record)
            if writer.written % 1000 == 0:
                _log.info("Processed %d files.", writer.written)
        if not writer.written:
            raise DataError(
                f"none of the {len(images)} images could be read, so there is no "
                f"database {database!r}; is the root folder {root!r} right (it is put "
                "before each name as it stands, so it needs its / at the end)?"
            )
        writer.finish()
        if writer.written % 1000:
            _log.info("Processed %d files.", writer.written)
    return skipped


class _Converter:
    """From an image file to a record, as the flags say."""

    def __init__(self, line: CommandLine) -> None:
        self._colour = Colour.GREY if line.switch("gray") else Colour.COLOUR
        self._size = (line.integer("resize_height"), line.integer("resize_width"))
        self._kind = line.text("encode_type").lower()
        self._encoded = line.switch("encoded") or bool(self._kind)
        self._check_size = line.switch("check_size")
        self._first: tuple[str, tuple[int, ...]] | None = None

    def record(self, path: str, label: int) -> bytes:
        """The record of the image at `path`.

        Raises:
            DataError: it is missing or broken.
            UsageError: it differs in size from the first one and -check_size is given.
        """
        file = read_file(path)
        image = decode_file(file, path, self._colour)
        if any(self._size):
            image = resize(image, *self._size)
        if self._check_size:
            self._check(path, image)
        kind = self._kind or (_extension(path) if self._encoded else "")
        if not kind:
            return write_datum(image, label, mark=True)
        if not any(self._size) and _same_kind(_extension(path), kind):
            return write_encoded(file, label)
        try:
            return write_encoded(encode(image, kind), label)
        except ValueError as error:
            raise UsageError(f"image {path!r}: {error}") from error

    def _check(self, path: str, image: Array) -> None:
        first, shape = self._first = self._first or (path, image.shape)
        if image.shape != shape:
            raise UsageError(
                f"image {path!r} has shape {image.shape} (channels, rows, columns), "
                f"the first one, {first!r}, has {shape}; resize them all with "
                "-resize_height and -resize_width, or leave out -check_size"
            )


def _extension(path: str) -> str:
    extension = os.path.splitext(path)[1][1:].lower()
    if not extension:
        _log.warning("Failed to guess the encoding of '%s'", path)
    return extension


def _same_kind(one: str, other: str) -> bool:
    jpeg = ("jpg", "jpeg")
    return one == other or (one in jpeg and other in jpeg)


def _summary(
    images: Sequence[Listed], skipped: Sequence[Listed], line: CommandLine
) -> int:
    written = len(images) - len(skipped)
    _log.info("%d read, %d written, %d skipped.", len(images), written, len(skipped))
    if line["skip_list"]:
        lines = "".join(f"{listed.name} {listed.label}\n" for listed in skipped)
        write_bytes(line.text("skip_list"), os.fsencode(lines))
    if not skipped or line.switch("allow_missing"):
        return 0
    _log.error(
        "%d images are missing from the database (the first: '%s'); with "
        "-allow_missing this is no failure",
        len(skipped),
        skipped[0].name,
    )
    return EXIT_FAILURE
