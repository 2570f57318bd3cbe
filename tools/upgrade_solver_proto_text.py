"""Caffe's tool upgrade_solver_proto_text as a script."""

import sys

from geeps_caffe.cli import main

if __name__ == "__main__":
    sys.exit(main(["upgrade_solver_proto_text", *sys.argv[1:]]))
