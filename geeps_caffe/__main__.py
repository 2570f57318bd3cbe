"""`python -m geeps_caffe`: the command line."""

import sys

from geeps_caffe.cli import main

if __name__ == "__main__":
    sys.exit(main())
