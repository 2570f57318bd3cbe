"""Where a field comes from that the schema does not have, and what to do about it.

The schema has the fields of Caffe and of seven forks. Public nets use many more; the
tables here name the origin of those that are met most.
"""

from google.protobuf.descriptor import Descriptor

from prototxt.errors import did_you_mean
from prototxt.schema import NetParameter, SolverParameter

# Fields of other programs: where from, and what says the same here, if anything does.
_ORIGINS = {
    "AccuracyParameter.min_is_better": "NormFace (happynear)",
    "BatchNormParameter.slope_filler": "PSPNet's Caffe; use a Scale layer",
    "ContrastiveLossParameter.output_matches": "MyCaffe",
    "ConvolutionParameter.hole_h": "DeepLab's Caffe; 'dilation' says the same",
    "ConvolutionParameter.hole_w": "DeepLab's Caffe; 'dilation' says the same",
    "ConvolutionParameter.kernel_depth": "C3D; give three 'kernel_size'",
    "ConvolutionParameter.temporal_pad": "C3D; give three 'pad'",
    "ConvolutionParameter.temporal_stride": "C3D; give three 'stride'",
    "ConvolutionParameter.kernel_shape": "video-caffe; give three 'kernel_size'",
    "ConvolutionParameter.pad_shape": "video-caffe; give three 'pad'",
    "ConvolutionParameter.stride_shape": "video-caffe; give three 'stride'",
    "ConvolutionParameter.fuse_type": "OpenCL Caffe, written by its fusion pass",
    "DataParameter.enable_random_selection": "MyCaffe",
    "DropoutParameter.scale_train": "Faster R-CNN's Caffe",
    "ImageDataParameter.label_type": "DeepLab's Caffe",
    "InnerProductParameter.normalize": "NormFace (happynear)",
    "LRNParameter.fuse_type": "OpenCL Caffe, written by its fusion pass",
    "LRNParameter.pooling_param": "OpenCL Caffe, written by its fusion pass",
    "LayerParameter.bbox_reg_param": "Cascade R-CNN and MS-CNN",
    "LayerParameter.box_group_output_param": "Cascade R-CNN",
    "LayerParameter.box_output_param": "MS-CNN",
    "LayerParameter.center_loss_param": "caffe-face (ydwen)",
    "LayerParameter.color_conv_param": "split-brain autoencoders",
    "LayerParameter.cos_data_param": "CaffeOnSpark",
    "LayerParameter.cpm_transform_param": "OpenPose's training Caffe",
    "LayerParameter.detection_data_param": "Cascade R-CNN",
    "LayerParameter.detection_loss_param": "MS-CNN",
    "LayerParameter.image_gt_data_param": "MS-CNN",
    "LayerParameter.inner_distance_param": "NormFace (happynear)",
    "LayerParameter.interp_param": "DeepLab's and PSPNet's Caffe",
    "LayerParameter.lstm_param": "caffe-lstm (junhyukoh); 'recurrent_param' is Caffe's",
    "LayerParameter.margin_inner_product_param": "SphereFace",
    "LayerParameter.mask_resize_param": "MNC",
    "LayerParameter.mmd_param": "Xlearn",
    "LayerParameter.multi_stage_meanfield_param": "CRF as RNN",
    "LayerParameter.normalize_param": "NormFace (happynear)",
    "LayerParameter.pooling3d_param": "C3D",
    "LayerParameter.convolution3d_param": "C3D",
    "LayerParameter.proposal_param": "PVANet's and mini-caffe's Faster R-CNN",
    "LayerParameter.proposal_target_param": "Cascade R-CNN and MS-CNN",
    "LayerParameter.reverse_param": "CTPN",
    "LayerParameter.roi_warping_param": "MNC",
    "LayerParameter.shuffle_channel_param": "ShuffleNet (farmingyard)",
    "LayerParameter.source_class": "CaffeOnSpark",
    "LayerParameter.transpose_param": "CTPN",
    "LayerParameter.yolov3_param": "MobileNet-YOLO (eric612)",
    "LayerParameter.yolo_seg_param": "MobileNet-YOLO (eric612)",
    "MemoryDataParameter.share_in_parallel": "CaffeOnSpark",
    "MemoryDataParameter.source": "CaffeOnSpark",
    "NetStateRule.RUN": "MyCaffe",
    "ParameterParameter.blob_filler": "NormFace (happynear)",
    "PoolingParameter.kernel_depth": "C3D",
    "PoolingParameter.temporal_stride": "C3D",
    "PoolingParameter.kernel_shape": "video-caffe",
    "PoolingParameter.stride_shape": "video-caffe",
    "SoftmaxParameter.normalize_type": "NormFace (happynear)",
    "SolverParameter.accuracy_average_window": "MyCaffe",
    "SolverParameter.adamw_decay": "MyCaffe",
    "SolverParameter.stepearly": "old pull request of Caffe; lr_policy 'step' is near",
    "TransformationParameter.color_order": "MyCaffe",
    "TransformationParameter.fix_crop": "temporal segment networks (yjxiong)",
    "TransformationParameter.is_flow": "temporal segment networks (yjxiong)",
    "TransformationParameter.max_distort": "temporal segment networks (yjxiong)",
    "TransformationParameter.more_fix_crop": "temporal segment networks (yjxiong)",
    "TransformationParameter.multi_scale": "temporal segment networks (yjxiong)",
    "TransformationParameter.scale_ratios": "temporal segment networks (yjxiong)",
    "V1LayerParameter.bn_param": "DeconvNet and caffe-googlenet-bn",
    "V1LayerParameter.interp_param": "DeepLab's Caffe",
    "V1LayerParameter.multi_stage_meanfield_param": "CRF as RNN",
    "V1LayerParameter.strict_dim": "DeepLab's Caffe",
    "V1LayerParameter.unpooling_param": "DeconvNet",
}

# Fields of the format of 2014 inside a layer of the current one.
_OLD_FORMAT = {
    "blobs_lr": "param { lr_mult: 1 }",
    "weight_decay": "param { decay_mult: 1 }",
    "blob_share_mode": "param { share_mode: PERMISSIVE }",
}


def explain_unknown(name: str, message: Descriptor, top: bool) -> str:
    """Say that a message has no such field, and what the user may have meant.

    Args:
        name: the field's name as the user wrote it.
        message: the message it stands in.
        top: whether it stands outside all blocks of its file.
    """
    text = f"{message.name} has no field '{name}'"
    origin = _ORIGINS.get(f"{message.name}.{name}")
    if origin:
        return f"{text}; it comes from {origin}"
    if message.name == "LayerParameter" and name in _OLD_FORMAT:
        return f"{text}; in this format it is {_OLD_FORMAT[name]}"
    if top and (other := _other_file(name, message)):
        return f"{text}; this looks like {other}"
    inside = _inside(name, message)
    if inside:
        return f"{text}; it belongs into {inside}"
    return text + did_you_mean(name, message.fields_by_name)


def _other_file(name: str, message: Descriptor) -> str:
    """The kind of file that has the field at its top, if it is another kind."""
    if message.name == "SolverParameter" and name in ("layer", "layers", "input"):
        return "a net, where a solver was expected"
    if message.name == "NetParameter":
        if name in NetParameter.DESCRIPTOR.fields_by_name:
            return ""
        if name in SolverParameter.DESCRIPTOR.fields_by_name:
            return "a solver, where a net was expected"
    return ""


def _inside(name: str, message: Descriptor) -> str:
    """The blocks of a layer that have the field, if there are only a few."""
    if message.name != "LayerParameter":
        return ""
    blocks = [
        field.name
        for field in message.fields
        if field.name.endswith("_param")
        and field.number < 150  # forks would offer many more
        and field.message_type is not None
        and name in field.message_type.fields_by_name
    ]
    return " or ".join(blocks) if len(blocks) <= 4 else ""
