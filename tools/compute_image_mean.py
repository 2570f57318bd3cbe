"""Caffe's tool compute_image_mean as a script."""

import sys

from geeps_caffe.commands.compute_image_mean import main
from geeps_caffe.commands.script import run

if __name__ == "__main__":
    sys.exit(run(main))
