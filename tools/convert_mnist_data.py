"""Caffe's tool convert_mnist_data as a script."""

import sys

from geeps_caffe.commands.convert_mnist_data import main
from geeps_caffe.commands.script import run

if __name__ == "__main__":
    sys.exit(run(main))
