"""WindowData: windows of images, warped to squares (R-CNN)."""

from typing import ClassVar

from geeps_caffe.data.reader import Reader
from geeps_caffe.data.sampler import Sampler
from geeps_caffe.data.transform_param import read_transform
from geeps_caffe.data.window_file import read_window_file
from geeps_caffe.data.windows import WindowFeed, WindowForm, WindowOrder
from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.source import SourceLayer


class WindowData(SourceLayer):
    """Top 0: windows (N, C, crop, crop); top 1, if named: their classes (N,).

    A share `fg_fraction` of each batch, at its end, is foreground. `scale` is that
    of window_data_param: as in Caffe, transform_param's has no effect.
    """

    type_name: ClassVar = "WindowData"

    def open(self) -> tuple[Reader, Shapes]:
        """See SourceLayer."""
        param, tops = self.spec.window_data_param, len(self.spec.top)
        if not param.source:
            raise ValueError("window_data_param has no source; give a window file")
        share = self.share(param.batch_size)
        form = self._form()
        file = read_window_file(
            param.source, param.root_folder, param.fg_threshold, param.bg_threshold
        )
        self._check_means(form, file.channels)
        seed = self.setting.seed
        order = WindowOrder(file, param.fg_fraction, share, seed, self.use)
        if order.missing:
            raise ValueError(
                f"window file {param.source!r} has no {order.missing} window; see "
                "fg_threshold, bg_threshold and fg_fraction"
            )
        shapes = ((share.batch, file.channels, form.crop, form.crop), (share.batch,))
        feed = WindowFeed(file, form, tops)
        return Reader(feed, Sampler(order, share)), shapes[:tops]

    def _form(self) -> WindowForm:
        param, seed = self.spec.window_data_param, self.setting.seed
        transform = read_transform(
            self.spec.transform_param, self.training, seed, self.use
        )
        crop = self.spec.transform_param.crop_size
        if param.crop_mode not in ("warp", "square"):
            raise ValueError(
                f"crop_mode is {param.crop_mode!r}; expected warp or square"
            )
        if crop <= 2 * param.context_pad:
            raise ValueError(
                f"crop_size {crop} of transform_param must be over 0 and over twice "
                f"the context_pad of {param.context_pad}"
            )
        return WindowForm(
            crop,
            param.context_pad,
            param.crop_mode == "square",
            transform.mirror,
            param.scale,
            transform.mean,
            transform.mean_values,
            param.cache_images,
            transform.seed,
            self.use,
        )

    def _check_means(self, form: WindowForm, channels: int) -> None:
        if channels != 3:
            raise ValueError(
                f"the window file says {channels} channels; images are read in colour, "
                "with 3"
            )
        if len(form.mean_values) not in (0, 1, channels):
            raise ValueError(
                f"there are {len(form.mean_values)} mean_values; give 1 or {channels}"
            )
        if form.mean is not None and min(form.mean.shape[1:]) < form.crop:
            raise ValueError(
                f"the mean file's shape {form.mean.shape} is smaller than crop_size "
                f"{form.crop}"
            )
