"""The recipes of the paper's tables, against its numbers (appendix A) and those of its code."""

from dataclasses import replace

import pytest
import torch

from tag2box.models.build import build_dropout, detector_from
from tag2box.recipe import Recipe
from tag2box.recipe_file import recipe_named
from tag2box.training.distributed import Processes
from tag2box.training.objective import frozen_part
from tag2box.training.players import build_losses, fitted

NUMBERS = {  # batch, learning rate, warm-up, decays, steps, Concrete DropBlock
    "voc07": (8, 0.01, 200, (20_000, 26_000), 30_000, True),
    "voc12": (16, 0.02, 200, (20_000, 26_000), 30_000, True),
    "voc0712": (16, 0.02, 200, (30_000, 35_000), 40_000, True),
    "coco14": (8, 0.01, 500, (90_000, 120_000), 130_000, False),
    "coco17": (8, 0.01, 500, (90_000, 120_000), 130_000, False),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_the_paper(name: str) -> None:
    recipe = recipe_named(name)
    batch, rate, warm_up, decays, steps, concrete = NUMBERS[name]
    training = recipe.training
    assert training.images_per_step == training.linear_rule_images == batch
    assert (training.learning_rate, training.warm_up_steps) == (rate, warm_up)
    assert (training.decay_at, training.decay_by, training.steps) == (decays, 0.1, steps)
    assert (recipe.dropout.kind == "concrete") == concrete
    assert not concrete or recipe.dropout.share == 0.3


@pytest.mark.parametrize("name", NUMBERS)
def test_what_all_of_them_share(name: str) -> None:
    recipe = recipe_named(name)
    training, model, mining = recipe.training, recipe.model, recipe.mining
    assert (training.optimizer, training.momentum, training.weight_decay) == ("sgd", 0.9, 1e-4)
    assert (training.bias_rate_factor, training.clip_gradient) == (2, 0)
    assert training.warm_up_start == pytest.approx(1 / 3)
    assert training.short_sides == (480, 576, 688, 864, 1000, 1200)
    assert (training.long_side, training.mirror) == (2000, True)
    assert (model.backbone, model.dilated, model.students, model.regression) == (
        *("vgg16", True, 3, True),
    )
    assert (mining.method, mining.top_share, mining.overlap) == ("mist", 0.15, 0.2)
    assert (recipe.losses.first_student_weight, recipe.merging.overlap) == (3, 0.3)
    assert (recipe.inference.passes, recipe.inference.mirror) == ("all", True)
    assert recipe.proposals.random_share == 1
    assert recipe.proposals.maximum_count == 0  # appendix: leaving any out costs accuracy
    build_losses(recipe)
    build_dropout(recipe.dropout, channels=512)


def test_without_a_gpu_the_base_stays_as_it_is() -> None:
    laptop = recipe_named("laptop")
    assert frozen_part(detector_from(laptop.model, laptop.dropout, 2)) == "base"


@pytest.mark.parametrize(
    ("processes", "photos", "factor"), [(1, 8, None), (4, 8, None), (3, 9, "1.125"), (16, 16, "2")]
)
def test_other_numbers_of_devices_keep_the_linear_rule_and_say_so(
    processes: int, photos: int, factor: str | None, recwarn: pytest.WarningsRecorder
) -> None:
    ours = Processes(rank=0, count=processes, device=torch.device("cpu"))
    taken = fitted(recipe_named("voc07").training, ours)
    assert taken.images_per_step == photos
    said = " ".join(str(warning.message) for warning in recwarn)
    assert (f"multiplied by {factor} for {photos} (linear rule)" in said) == (factor is not None)
    assert (f"cannot be shared by {processes} processes: taking {photos}" in said) == (photos != 8)


def test_fewer_photos_a_step_learn_slower_by_the_linear_rule() -> None:
    from tag2box.models.build import detector_from
    from tag2box.training.players import build_game

    recipe = Recipe()
    small = replace(recipe.model, backbone="timm:test_efficientnet", weights="none", neck_width=8)
    alone = Processes(rank=0, count=1, device=torch.device("cpu"))
    training = replace(recipe_named("voc12").training, images_per_step=4)
    with pytest.warns(UserWarning, match="learning rates are meant for 16 photos"):
        training = fitted(training, alone)
    recipe = replace(recipe, training=training, model=replace(small, frozen_stages=0))
    game = build_game(detector_from(recipe.model, recipe.dropout, 2), recipe, alone)
    assert game.players[0].rates == pytest.approx((0.005, 0.01))
