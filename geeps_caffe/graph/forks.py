"""Layer types of well-known Caffe forks, so that a message can say whose they are."""

FORKS: dict[str, tuple[str, ...]] = {
    "SSD (weiliu89/caffe)": (
        "AnnotatedData",
        "DetectionEvaluate",
        "DetectionOutput",
        "MultiBoxLoss",
        "Normalize",
        "Permute",
        "PriorBox",
        "SmoothL1Loss",
    ),
    "Fast R-CNN (rbgirshick/caffe-fast-rcnn)": ("ROIPooling",),
    "R-FCN (daijifeng001/caffe-rfcn)": (
        "BoxAnnotatorOHEM",
        "PSROIPooling",
        "SmoothL1LossOHEM",
        "SoftmaxWithLossOHEM",
    ),
    "SegNet (alexgkendall/caffe-segnet)": ("BN", "DenseImageData", "Upsample"),
    "PSPNet and ICNet (hszhao)": ("Interp",),
    "DeepLab (TheLegendAli/DeepLab-Context)": ("ImageSegData",),
    "C3D (facebook/C3D)": ("Convolution3D", "Pooling3D", "VideoData"),
    "NVCaffe (NVIDIA/caffe)": ("DetectNetTransformation", "L1Loss"),
    "MobileNet's (yonghenglh6/DepthwiseConvolution)": (
        "ConvolutionDepthwise",
        "DepthwiseConvolution",
        "ReLU6",
    ),
    "ShuffleNet's (farmingyard/ShuffleNet)": ("ShuffleChannel",),
    "SENet's (hujie-frank/SENet)": ("Axpy",),
    "YOLO's (eric612/MobileNet-YOLO, gklz1982/caffe-yolov2)": (
        "EvalDetection",
        "RegionLoss",
        "Reorg",
        "Yolov3",
        "Yolov3DetectionOutput",
        "YoloDetectionOutput",
    ),
    "Cascade R-CNN and MS-CNN (zhaoweicai)": (
        "BboxAccuracy",
        "BoxGroupOutput",
        "BoxOutput",
        "DecodeBBox",
        "DetectionAccuracy",
        "DetectionLoss",
        "ImageGtData",
        "ProposalTarget",
        "ROIAlign",
    ),
    "NormFace's (happynear/caffe-windows)": ("ChannelScale", "Flip", "InnerDistance"),
    "CTPN (tianzhi0549/CTPN)": ("Lstm", "Reverse", "Transpose"),
    "HED and OSVOS (s9xie/hed)": ("ImageLabelmapData",),
}


def fork_of(type_name: str) -> str | None:
    """The fork that brings a layer type, if it is one that we know of.

    >>> fork_of("PriorBox")
    'SSD (weiliu89/caffe)'
    """
    return next((fork for fork, types in FORKS.items() if type_name in types), None)
