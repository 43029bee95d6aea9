"""The list of the ablation, run small: every kind of row is trained, looked at, scored, written."""

from pathlib import Path

import pytest

from ablation import Plan, best_of, conclusions, kept_scores, read_plan, run_one, write_page
from tag2box.data.scene_files import write_scenes

LIST = """
recipe = "laptop"
seeds = [0]

[changes.training]
steps = 2
images_per_step = 2
workers = 0
short_sides = [96]

[changes.proposals]
source = "grid"
maximum_count = 40

[[rows]]
table = "steps of the paper"
name = "MIST without regression"
changes = { model = { regression = false } }

[[rows]]
table = "steps of the paper"
name = "MIST"
changes = { dropout = { kind = "concrete" } }

[[rows]]
table = "upper bound"
name = "true boxes"
boxes = true

[[rows]]
table = "chance"
name = "the largest region"
chance = "largest"

[[rows]]
table = "proof"
name = "one class"
classes = ["fox"]
tags = "shuffled"
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    listed = tmp_path / "list.toml"
    listed.write_text(LIST)
    return read_plan(listed)


def test_a_row_is_found_by_its_whole_title(plan: Plan) -> None:
    assert plan.row_titled("steps of the paper: MIST").name == "MIST"


@pytest.mark.slow
def test_every_kind_of_row_is_scored_and_told(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_scenes(tmp_path / "scenes", train=12, val=12, width=160, height=120)
    out = tmp_path / "runs"
    for row in plan.rows:
        scores = run_one(plan, row, 0, tmp_path / "scenes", out)
        assert 0 <= scores["ap50"] <= 100
        assert scores["photos_looked_at"] > 0
    kept = kept_scores(plan, out)
    assert len(kept) == len(plan.rows)
    assert best_of(kept).startswith("MIST")
    told = " ".join(conclusions(kept))
    assert "that true boxes teach" in told
    assert "waited for photos" in told
    assert 'says of "one class": The only class is in 100% of the photos' in told
    write_page(tmp_path / "results.md", kept, plan)
    page = (tmp_path / "results.md").read_text()
    assert "| true boxes | 1 |" in page
    assert (tmp_path / "ablation.svg").stat().st_size > 0
