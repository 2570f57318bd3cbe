"""pycaffe's folder of messages; they are in `caffe_pb2`."""
