"""Caffe's tool convert_imageset as a script."""

import sys

from geeps_caffe.commands.convert_imageset import main
from geeps_caffe.commands.script import run

if __name__ == "__main__":
    sys.exit(run(main))
