"""Caffe's tool upgrade_net_proto_text as a script."""

import sys

from geeps_caffe.cli import main

if __name__ == "__main__":
    sys.exit(main(["upgrade_net_proto_text", *sys.argv[1:]]))
