"""The version of geeps-caffe, and the Caffe it answers for."""

VERSION = "0.1.0"
CAFFE_VERSION = "1.0.0"  # what `caffe --version` and pycaffe's __version__ report
