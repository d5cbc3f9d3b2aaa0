"""The ONNX file, under the real runtime."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from andrea.common.errors import UserError
from andrea.config import tree
from andrea.exporting import graph
from andrea.exporting.trained import Trained
from andrea.model.gpt import GPT


@pytest.fixture(scope="module")
def file(source: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    assert graph.write(path, source.model, {"context": "16"}) <= 1e-5
    assert [other.name for other in path.parent.iterdir()] == ["model.onnx"]
    return path


def test_logits_are_equal_at_every_length(source: Trained, file: Path) -> None:
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    for rows in (1, 2, 5):
        for length in range(1, source.scale.context + 1):
            ids = rng.integers(0, source.scale.vocabulary, (rows, length))
            (theirs,) = session.run(None, {"token_ids": ids})
            with torch.no_grad():
                ours = source.model(torch.from_numpy(ids)).numpy()
            assert theirs.shape == ours.shape
            assert np.abs(ours - theirs).max() <= 1e-5 * np.abs(ours).max()


@pytest.mark.slow
def test_logits_of_a_shipped_scale(tmp_path: Path) -> None:
    """Of the published 12M."""
    scale = tree.load(Path(__file__).parents[2] / "params.yaml").scales["andrea-12m"]
    model = GPT(scale)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for weights in model.parameters():
            weights.normal_(0, 0.03, generator=generator)
    assert graph.write(tmp_path / "m.onnx", model, {}) <= 1e-5


def test_what_the_file_says(source: Trained, file: Path) -> None:
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    assert graph.is_ours(file)
    assert {entry.key: entry.value for entry in model.metadata_props} == {"context": "16"}
    (tokens,), (logits,) = model.graph.input, model.graph.output
    sizes = [dim.dim_param or dim.dim_value for dim in logits.type.tensor_type.shape.dim]
    assert (tokens.name, logits.name) == ("token_ids", "logits")
    assert sizes == ["batch", "length", source.scale.vocabulary]


def test_a_wrong_file_is_told_and_not_kept(
    source: Trained, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "_traced", lambda _: onnx.load(file))
    path = tmp_path / "m.onnx"
    path.write_bytes(b"before")
    monkeypatch.setattr(graph, "compare", lambda *_: 2e-5)
    with pytest.raises(UserError, match=r"m.onnx: its logits are off by 2.0e-05 of the largest"):
        graph.write(path, source.model, {})
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
    assert not graph.is_ours(path)


def test_a_library_that_is_missing_is_named(
    source: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(name: str) -> Any:
        return None if name == "onnxscript" else find_spec(name)

    monkeypatch.setattr(graph, "find_spec", found)
    with pytest.raises(
        UserError, match=r"onnxscript: not installed; `pip install 'andrea\[onnx\]'"
    ):
        graph.write(tmp_path / "m.onnx", source.model, {})
    assert list(tmp_path.iterdir()) == []
