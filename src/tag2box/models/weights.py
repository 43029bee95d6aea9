"""Reading weights: each tensor finds its place or an error names it; nothing is random unsaid."""

import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError

import torch
import torchvision
from torch import Tensor

from tag2box.errors import InputError

TORCHVISION = {
    "vgg16": "VGG16_Weights.IMAGENET1K_V1",
    "resnet50": "ResNet50_Weights.IMAGENET1K_V1",
    "resnet101": "ResNet101_Weights.IMAGENET1K_V1",
}


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """The tensors of a `.safetensors` file or of a torch file that needs no code to be read."""
    content = read_tensors_only(path)
    if not isinstance(content, Mapping) or not content:
        raise InputError(path, "holds no weights", "name a file with a state dict")
    for name, value in content.items():
        if not isinstance(value, Tensor):
            raise InputError(
                path, f"the entry {name!r} is not a tensor", "save the plain state dict of a model"
            )
    return {str(name): value for name, value in content.items()}


def read_tensors_only(path: Path) -> object:
    """The content of a weights file; nothing in it is ever executed."""
    if not path.is_file():
        raise InputError(path, "there is no such file", "name a .pth or .safetensors file")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file  # a network of random weights needs none

            return load_file(path)
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a wrong file may fail in any way
        reason = str(error).partition("\n")[0]
        # In torch's own words: read it unsafely; or the byte it stumbled over; or nothing.
        if isinstance(error, UnpicklingError | LookupError | EOFError):
            reason = "it holds code, or is broken"
        raise InputError(
            path,
            f"is not a file of weights that can be read safely ({reason})",
            "name a .safetensors file, or a .pth file that holds only tensors",
        ) from None


def torchvision_weights(name: str) -> dict[str, Tensor]:
    """ImageNet weights by torchvision, downloaded the first time."""
    weights = torchvision.models.get_weight(TORCHVISION[name])
    with downloading(name):
        state: dict[str, Tensor] = weights.get_state_dict(progress=True, check_hash=True)
    return state


@contextmanager
def downloading(what: object) -> Iterator[None]:
    """A download that fails, in whatever way, is one sentence."""
    try:
        yield
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            what,
            f"its weights cannot be downloaded ({reason})",
            "connect to the network once, or give --model.weights a local file or `none`",
        ) from error


def load_by_name(
    own: Mapping[str, Tensor],
    weights: Mapping[str, Tensor],
    where: object,
    *,
    unused: Collection[str] = (),
    may_stay_random: Collection[str] = (),
    remedy: str = "name weights of this backbone",
) -> None:
    """Copy weights into the tensors of a network, cast to their precision.

    Args:
        own: the network's tensors, under the names the weights have.
        weights: what to copy.
        where: what the weights come from, for the error.
        unused: names that may stand in `weights` without a place.
        may_stay_random: names that may lack; a warning says which did.
        remedy: what to do where they do not fit.
    """
    missing = [name for name in own if name not in weights]
    random = [name for name in missing if name in may_stay_random]
    problems = {
        "missing": [name for name in missing if name not in may_stay_random],
        "unknown": [name for name in weights if name not in own and name not in unused],
        "of another shape": [
            f"{name} {tuple(weights[name].shape)} for {tuple(tensor.shape)}"
            for name, tensor in own.items()
            if name in weights and weights[name].shape != tensor.shape
        ],
    }
    if any(problems.values()):
        told = ", ".join(f"{kind}: {_listed(names)}" for kind, names in problems.items() if names)
        raise InputError(where, f"the weights do not fit ({told})", remedy)
    if random:
        warnings.warn(
            f"{where}: has no weights for {_listed(random)}: these start random.", stacklevel=2
        )
    with torch.no_grad():
        for name, tensor in own.items():
            if name in weights:
                tensor.copy_(weights[name])


def _listed(names: list[str], limit: int = 4) -> str:
    """Some names and how many more."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
