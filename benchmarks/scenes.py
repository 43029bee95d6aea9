"""Generated scenes: what they cost, and whether they tempt a detector as they are meant to.

    python benchmarks/scenes.py [--scenes 300]

The temptation is measured with the ImageNet features of EfficientNet-Lite0 and a linear classifier
on boxes that are given: the object, its discriminative part alone, and the object with that part
painted grey. M objects, C classes.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import timm
import torch
from PIL import Image
from torch.nn import functional

from tag2box.boxes import iou
from tag2box.data.scene_files import FIRST_VAL, write_scenes
from tag2box.data.scene_objects import CLASS_NAMES, HEADS
from tag2box.data.scenes import Scene, make_scene
from tag2box.models.efficientnet import embedded_weights

VIEWS = ("object", "part alone", "object without part")
SIDE, GREY = 96, 128


def main() -> None:
    """Print the table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=300, help="scenes written to disk")
    parser.add_argument("--learn", type=int, default=110, help="scenes the classifier learns from")
    parser.add_argument("--test", type=int, default=60, help="scenes it is tested on")
    options = parser.parse_args()
    torch.set_num_threads(1)
    numbers: dict[str, float] = dict(written(options.scenes))
    learn = [make_scene(i) for i in range(options.learn)]
    test = [make_scene(FIRST_VAL + i) for i in range(options.test)]
    numbers |= statistics(learn + test)
    numbers |= temptation(learn, test)
    for name, value in numbers.items():
        print(f"{name:<44} {value:8.3f}")
    print(json.dumps(numbers))


def written(count: int) -> dict[str, float]:
    """Seconds to make scenes and write them."""
    with tempfile.TemporaryDirectory() as folder:
        processor, wall = time.process_time(), time.perf_counter()
        write_scenes(Path(folder), train=count, val=0)
        return {
            f"seconds for {count} scenes": time.perf_counter() - wall,
            "of them on the processor": time.process_time() - processor,
        }


def statistics(scenes: list[Scene]) -> dict[str, float]:
    """What the scenes hold."""
    boxes = np.concatenate([scene.boxes for scene in scenes])
    parts = np.concatenate([scene.part_boxes for scene in scenes])
    in_cluster = [np.bincount(scene.clusters)[scene.clusters] > 1 for scene in scenes]
    overlap = np.diag(iou(boxes, parts))
    return {
        "objects a scene": len(boxes) / len(scenes),
        "classes a scene": float(np.mean([len(scene.tags) for scene in scenes])),
        "share of objects that touch one of their class": float(np.concatenate(in_cluster).mean()),
        "median IoU of an object and its part": float(np.median(overlap)),
        "share of parts that would count as objects": float((overlap >= 0.5).mean()),
    }


def temptation(learn: list[Scene], test: list[Scene]) -> dict[str, float]:
    """Share of objects whose class a linear classifier tells from each view."""
    network = timm.create_model("tf_efficientnet_lite0")
    network.load_state_dict(embedded_weights())
    network.eval()
    shares = {}
    for view in VIEWS:
        known, classes = features(network, learn, view)
        unknown, truth = features(network, test, view)
        mean, deviation = known.mean(dim=0), known.std(dim=0) + 1e-6
        weights = fitted((known - mean) / deviation, classes)
        told = ((unknown - mean) / deviation @ weights).argmax(dim=1)
        shares[f"class told from {view}"] = float((told == truth).float().mean())
        families = (told < len(HEADS)) == (truth < len(HEADS))
        shares[f"animal or truck told from {view}"] = float(families.float().mean())
    return shares


@torch.no_grad()
def features(
    network: torch.nn.Module, scenes: list[Scene], view: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean features (M, 1280) and classes (M,) of all objects."""
    crops, classes = [], []
    for scene in scenes:
        rows = zip(scene.boxes, scene.part_boxes, scene.classes, strict=True)
        for box, part, class_index in rows:
            photo = scene.image.copy()
            if view == "object without part":
                x1, y1, x2, y2 = part.astype(int)
                photo[y1:y2, x1:x2] = GREY
            crop = Image.fromarray(photo).crop(tuple(part if view == "part alone" else box))
            crops.append(np.asarray(crop.resize((SIDE, SIDE)), np.float32) / 127.5 - 1)
            classes.append(int(class_index))
    pixels = torch.from_numpy(np.array(crops)).permute(0, 3, 1, 2)
    maps = [network.forward_features(some).mean(dim=(2, 3)) for some in pixels.split(64)]
    return torch.cat(maps), torch.tensor(classes)


def fitted(inputs: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
    """Weights (1280, C) of a regularised logistic regression."""
    weights = torch.zeros(inputs.shape[1], len(CLASS_NAMES), requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=60)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(inputs @ weights, classes) + 0.01 * weights.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return weights.detach()


if __name__ == "__main__":
    main()
