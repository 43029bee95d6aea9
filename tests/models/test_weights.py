import pickle
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import torch
import torchvision
from safetensors.torch import save_file

from tag2box.errors import InputError
from tag2box.models.weights import (
    TORCHVISION,
    load_by_name,
    read_state_dict,
    torchvision_weights,
)


class Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (print, ("harm",))


@pytest.mark.parametrize("name", ["w.pth", "w.safetensors"])
def test_plain_tensors_are_read(tmp_path: Path, name: str) -> None:
    state = {"a": torch.arange(3.0), "b": torch.ones(2, 2).half()}
    (save_file if name.endswith("s") else torch.save)(state, tmp_path / name)
    read = read_state_dict(tmp_path / name)
    assert {k: v.tolist() for k, v in read.items()} == {k: v.tolist() for k, v in state.items()}


@pytest.mark.parametrize("name", ["w.pth", "w.safetensors"])
@pytest.mark.parametrize(
    "content", [b"", b"no weights at all", b"hello\n", pickle.dumps(Harmful(), protocol=2)]
)
def test_a_wrong_file_is_one_sentence_and_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="weights") as error:
        read_state_dict(tmp_path / name)
    assert "\n" not in str(error.value)
    assert not re.search(r"\(\W*\w*\W*\)", str(error.value))  # a word or a number says nothing
    assert "harm" not in capsys.readouterr().out


def test_a_torch_file_with_code_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save({"a": Harmful()}, tmp_path / "w.pth")
    with pytest.raises(InputError, match="read safely") as error:
        read_state_dict(tmp_path / "w.pth")
    assert "weights_only" not in str(error.value)
    assert "harm" not in capsys.readouterr().out


def test_files_without_a_state_dict(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_state_dict(tmp_path / "absent.pth")
    for content, words in [
        ({}, "no weights"),
        ({"a": 3}, "'a' is not a tensor"),
        (3, "no weights"),
    ]:
        torch.save(content, tmp_path / "w.pth")
        with pytest.raises(InputError, match=words):
            read_state_dict(tmp_path / "w.pth")


def test_weights_are_copied_and_cast() -> None:
    own = {"a": torch.zeros(2), "b": torch.zeros(1)}
    weights = {"a": torch.tensor([1.5, 2]).half(), "b": torch.ones(1), "classifier": torch.ones(9)}
    load_by_name(own, weights, "file", unused=["classifier"])
    assert own["a"].tolist() == [1.5, 2]
    assert own["a"].dtype == torch.float32


def test_what_does_not_load_is_named_and_nothing_is_half_loaded() -> None:
    own = {"a": torch.zeros(2), "b": torch.zeros(1), "c": torch.zeros(1)}
    weights = {"a": torch.ones(3), "c": torch.ones(1), "d": torch.ones(1)}
    expected = r"file: .*missing: b, unknown: d, of another shape: a \(3,\) for \(2,\)"
    with pytest.raises(InputError, match=expected):
        load_by_name(own, weights, "file")
    assert all(not tensor.any() for tensor in own.values())


def test_what_may_stay_random_is_said() -> None:
    own = {"a": torch.zeros(2), "b": torch.full((1,), 7.0)}
    with pytest.warns(UserWarning, match="file: has no weights for b: these start random"):
        load_by_name(own, {"a": torch.ones(2)}, "file", may_stay_random=["b"])
    assert own["b"].item() == 7


@pytest.mark.parametrize("name", TORCHVISION)
def test_no_network_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    asked = []

    def offline(request: urllib.request.Request, *_: object, **__: object) -> None:
        asked.append(request.full_url)
        raise urllib.error.URLError("Name or service not known")

    monkeypatch.setattr("torch.hub.urlopen", offline)
    with pytest.raises(InputError, match=rf"{name}: its weights cannot be downloaded .*local file"):
        torchvision_weights(name)
    assert asked == [torchvision.models.get_weight(TORCHVISION[name]).url]
