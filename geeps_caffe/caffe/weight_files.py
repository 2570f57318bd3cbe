"""Weights of a net that Python drives: copied from files, and saved."""

from geeps_caffe.caffe.arrays import PARAM, NetArrays
from geeps_caffe.device.array import Array
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.saved_weights import save_weights, weights_writer
from geeps_caffe.execution.weights import copy_weights
from geeps_caffe.files import DISK, write_atomically


class WithWeights:
    """A net whose weights come from files and go to files."""

    _net: PlannedNet
    _arrays: NetArrays

    def copy_from(self, path: str, plain_statistics: bool = False) -> None:
        """Copy weights from a .caffemodel or .caffemodel.h5 by layer name.

        `plain_statistics`: the file is NVCaffe's, whose BatchNorm layers store mean
        and variance with a factor of 0.
        """
        self._arrays.before_run()
        copy_weights(self._net, str(path), plain_statistics=plain_statistics)
        self._arrays.after_run()

    def save(self, path: str) -> None:
        """Write a .caffemodel (or .h5, by the name's ending)."""
        self._arrays.before_run()
        save_weights(self._net, str(path))

    def save_hdf5(self, path: str, write_diff: bool = False) -> None:
        """Write a weight file in HDF5, whatever its name; with the gradients or not."""
        self._arrays.before_run()
        diffs = self._param_diffs() if write_diff else None
        write_atomically(str(path), weights_writer(self._net, True, diffs), DISK)

    def load_hdf5(self, path: str) -> None:
        """Copy weights from an HDF5 file by layer name."""
        self.copy_from(path)

    def _param_diffs(self) -> dict[str, Array]:
        diff = self._arrays.blob_diff
        return {key: diff(PARAM + key) for key in self._net.graph.params}
