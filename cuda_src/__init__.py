"""The CUDA kernels: one idea a file, loaded by geeps_caffe.device.kernels."""
