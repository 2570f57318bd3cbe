"""A Python layer for tests: batches of 32, 48 and 64 ones, then again."""

from geeps_caffe.layers.python_class import PythonLayer


class Growing(PythonLayer):
    """A source of records of one number."""

    def setup(self, bottom, top):
        """Begin with the least."""
        self.step = -1

    def reshape(self, bottom, top):
        """The next batch is larger."""
        self.step += 1
        top[0].reshape(32 + 16 * (self.step % 3), 1)

    def forward(self, bottom, top):
        """Ones."""
        top[0].data[...] = 1
