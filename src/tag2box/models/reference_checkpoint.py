"""Checkpoints of the reference implementation (NVlabs/wetectron, VGG16) as our detector.

The tensors agree but for their names: both flatten pooled features in the order K, P, P, put
background in column 0 and group deltas by class. What differs is stated in the model's settings:
no ReLU after conv5_3, and BGR pixels with Caffe's mean.
C classes.
"""

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from tag2box.errors import InputError
from tag2box.models.build import build_detector
from tag2box.models.detector import Detector
from tag2box.models.pixels import CAFFE
from tag2box.models.trained import with_pixels
from tag2box.models.vgg import vgg16
from tag2box.models.weights import load_by_name, read_tensors_only
from tag2box.recipe import ModelSettings

PREDICTOR = "roi_heads.predictor"
EXTRACTOR = "roi_heads.feature_extractor"
BODY = "backbone.body"

VOC_CLASSES = (
    "aeroplane,bicycle,bird,boat,bottle,bus,car,cat,chair,cow,diningtable,dog,horse,motorbike,"
    "person,pottedplant,sheep,sofa,train,tvmonitor"
)
COCO_CLASSES = (
    "person,bicycle,car,motorcycle,airplane,bus,train,truck,boat,traffic light,fire hydrant,"
    "stop sign,parking meter,bench,bird,cat,dog,horse,sheep,cow,elephant,bear,zebra,giraffe,"
    "backpack,umbrella,handbag,tie,suitcase,frisbee,skis,snowboard,sports ball,kite,baseball bat,"
    "baseball glove,skateboard,surfboard,tennis racket,bottle,wine glass,cup,fork,knife,spoon,"
    "bowl,banana,apple,sandwich,orange,broccoli,carrot,hot dog,pizza,donut,cake,chair,couch,"
    "potted plant,bed,dining table,toilet,tv,laptop,mouse,remote,keyboard,cell phone,microwave,"
    "oven,toaster,sink,refrigerator,book,clock,vase,scissors,teddy bear,hair drier,"
    "toothbrush"
)


def read_reference(path: Path) -> tuple[Detector, ModelSettings]:
    """The detector of a checkpoint, and the settings that build it again."""
    weights = _model_of(read_tensors_only(path), path)
    classifier = weights.get(f"{PREDICTOR}.cls_score.weight")
    if classifier is None or classifier.ndim != 2:
        raise InputError(
            path,
            f"has no matrix {PREDICTOR}.cls_score.weight",
            "name a VGG16 checkpoint of NVlabs/wetectron",
        )
    columns, dimension = classifier.shape
    num_students = sum(f"{PREDICTOR}.ref{i}.weight" in weights for i in range(1, 10))
    settings = with_pixels(
        ModelSettings(
            backbone="vgg16",
            weights="none",
            neck_width=dimension,
            students=num_students,
            regression=f"{PREDICTOR}.bbox_pred1.weight" in weights,
            last_relu=False,
        ),
        CAFFE,
    )
    detector = build_detector(
        vgg16(last_relu=settings.last_relu, dimension=dimension),
        columns - 1,
        num_students=num_students,
        regression=settings.regression,
    )
    own = {reference_name(name): tensor for name, tensor in detector.state_dict().items()}
    load_by_name(own, weights, path)
    return detector, settings


def class_names_for(count: int, where: object) -> tuple[str, ...]:
    """The names in column order of the two data sets the reference was released for."""
    for names in (tuple(VOC_CLASSES.split(",")), tuple(COCO_CLASSES.split(","))):
        if len(names) == count:
            return names
    problem = f"has {count} classes, neither VOC's 20 nor COCO's 80"
    raise InputError(where, problem, "name them in column order: --classes A,B,C")


def reference_name(name: str) -> str:
    """The reference's name of one of our tensors.

    >>> reference_name("base.0.2.weight"), reference_name("heads.deltas.0.bias")
    ('backbone.body.features.2.weight', 'roi_heads.predictor.bbox_pred1.bias')
    """
    parts = name.split(".")
    kind = parts[-1]
    match parts[:-1]:
        case ["base", _, index]:
            return f"{BODY}.features.{index}.{kind}"
        case ["neck", "neck", "fc6"]:
            return f"{EXTRACTOR}.classifier.1.{kind}"
        case ["neck", "neck", "fc7"]:
            return f"{EXTRACTOR}.classifier.4.{kind}"
        case ["heads", "classes"]:
            return f"{PREDICTOR}.cls_score.{kind}"
        case ["heads", "detections"]:
            return f"{PREDICTOR}.det_score.{kind}"
        case ["heads", "students", index]:
            return f"{PREDICTOR}.ref{int(index) + 1}.{kind}"
        case ["heads", "deltas", index]:
            return f"{PREDICTOR}.bbox_pred{int(index) + 1}.{kind}"
    raise AssertionError(f"no tensor of a VGG16 detector: {name}")


def _model_of(content: object, path: Path) -> dict[str, Tensor]:
    """The tensors of the model, without the prefix that training on several GPUs adds."""
    if isinstance(content, Mapping):
        content = content.get("model", content)
    if not isinstance(content, Mapping) or not all(isinstance(v, Tensor) for v in content.values()):
        problem = "holds no state dict, neither itself nor under the key 'model'"
        raise InputError(path, problem, "name a checkpoint of NVlabs/wetectron")
    prefix = "module."
    prefixed = all(str(name).startswith(prefix) for name in content)
    return {str(n).removeprefix(prefix if prefixed else ""): t for n, t in content.items()}
