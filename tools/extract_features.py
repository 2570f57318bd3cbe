"""Caffe's tool extract_features as a script."""

import sys

from geeps_caffe.commands.extract_features import main
from geeps_caffe.commands.script import run

if __name__ == "__main__":
    sys.exit(run(main))
