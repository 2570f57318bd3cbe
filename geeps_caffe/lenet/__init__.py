"""The files of models/lenet that `geeps-caffe quickstart` trains with."""
