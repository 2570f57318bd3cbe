"""The feed of an ImageData layer: image files named in a list."""

from collections.abc import Sequence
from dataclasses import dataclass

from geeps_caffe.data.decode import Colour, decode_file, read_file, resize
from geeps_caffe.data.image_list import Listed
from geeps_caffe.data.pictures import Pictures, arrange, write
from geeps_caffe.data.sampler import Batch
from geeps_caffe.data.transform import Transform
from geeps_caffe.device.array import Array, Shape


@dataclass(frozen=True)
class ImageForm:
    """How the images of a list are read."""

    colour: Colour = Colour.COLOUR
    size: tuple[int, int] | None = None  # rows and columns to resize to


class ImageFeed:
    """Reads the listed images, decodes, resizes and transforms them."""

    def __init__(
        self, images: Sequence[Listed], form: ImageForm, transform: Transform, tops: int
    ) -> None:
        self._images = images
        self._form = form
        self._transform = transform
        self._tops = tops
        self._expected: Shape | None = None

    def survey(self, batch_size: int, first: int) -> tuple[Shape, bool]:
        """The shape of image `first` after the crop, and whether sizes may vary.

        Raises:
            DataError: the image is missing, broken, or does not fit.
        """
        listed = self._images[first]
        fixed = bool(self._form.size or self._transform.crop)
        varies = batch_size == 1 and not fixed
        pictures = self._arrange([self._image(listed)], [listed])
        shape = pictures.shapes[0][1:]
        self._expected = None if varies else shape
        return shape, varies

    def fetch(self, batch: Batch) -> Sequence[Listed]:
        """See Feed. The files themselves are read by many threads, in `decode`."""
        return [self._images[i % len(self._images)] for i in batch.records.tolist()]

    def decode(self, batch: Batch, fetched: Sequence[Listed]) -> Pictures:
        """See Feed."""
        del batch
        return self._arrange([self._image(listed) for listed in fetched], fetched)

    def write(self, batch: Batch, decoded: Pictures, tops: Sequence[Array]) -> None:
        """See Feed."""
        write(self._transform, batch, decoded, tops)

    def name(self, number: int) -> str:
        """See Feed: its file."""
        return f"image {self._images[number % len(self._images)].name!r}"

    def close(self) -> None:
        """See Feed; no file stays open."""

    def _image(self, listed: Listed) -> Array:
        file = read_file(listed.name)
        image = decode_file(file, listed.name, self._form.colour)
        return resize(image, *self._form.size) if self._form.size else image

    def _arrange(self, images: Sequence[Array], listed: Sequence[Listed]) -> Pictures:
        return arrange(
            images,
            [one.label for one in listed],
            self._transform,
            self._tops,
            self._expected,
            lambda i: f"image {listed[i].name!r}",
        )
