"""The logic of Caffe's tools; each file has a `main(argv) -> exit code`."""
