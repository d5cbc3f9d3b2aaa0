"""The model card says what the run knows, and nothing that it does not."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from andrea.common.errors import UserError
from andrea.common.files import sha256, write_json
from andrea.exporting import card, figures
from andrea.exporting.trained import Trained
from andrea.training import checkpoint


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Reports, shards and raw data of two sources, of which one was changed since training."""
    for source in ("a", "b"):
        (tmp_path / "raw" / source).mkdir(parents=True)
        (tmp_path / "raw" / source / "train.jsonl").write_text(source)
        (tmp_path / "shards" / source).mkdir(parents=True)
        split = {"sha256": source * 4, "documents": 1200, "bytes": 34567}
        write_json(tmp_path / "shards" / source / "manifest.json", {"splits": {"train": split}})
    digest = sha256(tmp_path / "raw/a/train.jsonl")
    entry = {"sha256": digest, "licenses": {"MIT": 2, "CC0-1.0": 5}}
    files = {"a/train.jsonl": entry, "b/train.jsonl": entry}
    write_json(tmp_path / "raw/manifest.json", {"files": files})
    for name in ("polish", "evaluate"):
        (tmp_path / "reports" / name).mkdir(parents=True)
    write_json(tmp_path / "reports/polish/metrics.json", {"steps": 7, "epochs": {"a": 1.5, "b": 2}})
    evaluated = {
        "polish": {"bits_per_byte": {"a": 1.25, "b": 2.5}, "macro_mean": 1.875,
                   "out_of_domain": 2.25},
        "memorization": {"polish": {
            "extracted_train": 0.0025, "extracted_control": 0.001, "difference": 0.0015,
            "low": -0.005, "high": 0.008,
        }},
    }  # fmt: skip
    write_json(tmp_path / "reports/evaluate/metrics.json", evaluated)
    return tmp_path


def gather(trained: Trained, root: Path) -> figures.Figures:
    places = (root / name for name in ("raw", "shards", "checkpoints", "reports"))
    return figures.gather(trained, 'my "model"', *places)


@pytest.fixture
def run(source: Trained, files: Path, root: Path) -> Trained:
    """Lies where its regime's checkpoint does, and was measured."""
    (root / "checkpoints/polish").mkdir(parents=True)
    shutil.copy(files / checkpoint.FILE, root / "checkpoints/polish")
    write_json(root / "reports/evaluate/checkpoints.json", {"polish": source.checkpoint_sha256})
    facts = {
        **source.facts, "regime": "polish", "sources": ["a", "b"],
        "train": {"a": "aaaa", "b": "changed"}, "machine": {"device": "cpu", "dtype": "fp32"},
    }  # fmt: skip
    read = {**source.state, "tokens": source.step * source.scale.step_tokens}
    return replace(source, facts=facts, state=read)


def test_it_is_filled_from_the_run(run: Trained, root: Path) -> None:
    known = gather(run, root)
    assert known.sources == (
        figures.Source("a", ("CC0-1.0", "MIT"), 1200, 34567, 1.5, 1.25),
        figures.Source("b", (), None, None, 2, 2.5),
    )
    text = card.render(run, known)
    assert "| a | CC0-1.0, MIT | 1,200 | 34,567 | 1.50 | 1.250 |" in text
    assert "| b | not stated | not stated | not stated | 2.00 | 2.500 |" in text
    for told in (
        f"{run.scale.parameters:,} |", "step 7, after the regime polish", "| 1.8750 |", "2.2500",
        "| 0.25% |", run.checkpoint_sha256, run.tokenizer_sha256, "device cpu, dtype fp32",
        "recited word for word | 0.25% |", "never read | 0.10% |", "0.15 points, -0.50 to 0.80 |",
        "with 0.10% of those of text that it never read", "from random weights. Taken",
    ):  # fmt: skip
        assert told in text
    assert "in this folder." not in text


def test_the_front_matter_is_yaml(run: Trained, root: Path) -> None:
    _, front, body = card.render(run, gather(run, root)).split("---\n", 2)
    found = YAML(typ="safe", pure=True).load(front)
    assert found["library_name"] == "transformers"
    assert found["license"] == "other"
    (entry,) = found["model-index"]
    assert entry["name"] == 'my "model"'
    assert entry["results"][0]["metrics"][0]["value"] == 1.875
    assert body.startswith('\n# my "model"\n')


def test_figures_of_another_checkpoint_are_left_out(run: Trained, root: Path) -> None:
    """Of the same regime and step, but not the one that lies there or was measured."""
    write_json(root / "reports/evaluate/checkpoints.json", {"polish": "0" * 64, "firehose": "x"})
    text = card.render(run, gather(run, root))
    assert "Nothing was measured on this checkpoint." in text
    assert "Whether it recites its training text was not measured." in text
    assert "model-index" not in text
    assert "| a | CC0-1.0, MIT | 1,200 | 34,567 | 1.50 | not stated |" in text
    (root / "checkpoints/polish" / checkpoint.FILE).write_bytes(b"another")
    text = card.render(run, gather(run, root))
    assert "| a | CC0-1.0, MIT | 1,200 | 34,567 | not stated | not stated |" in text
    (root / "reports/evaluate/checkpoints.json").unlink()
    assert gather(run, root).macro_mean is None


def test_an_imported_checkpoint_knows_nothing(source: Trained, tmp_path: Path) -> None:
    text = card.render(source, gather(source, tmp_path))
    assert "imported from an original checkpoint at step 7" in text
    assert "texts below" not in text
    assert "tokens read in training | not stated |" in text
    assert "Not known: the checkpoint does not say what it was trained on." in text


def test_what_a_network_began_as_is_told(run: Trained, root: Path) -> None:
    """A run that goes on from elsewhere counts fewer tokens than its steps would have read."""
    known = gather(run, root)
    fitted = card.render(replace(run, scale=replace(run.scale, bigram_init=3)), known)
    assert "from random weights fitted to counts of token pairs. Taken" in fitted
    text = card.render(replace(run, state={**run.state, "tokens": 8}), known)
    assert "trained on from a checkpoint of elsewhere (parameter `warmup.start`)" in text
    assert "random weights" not in text
    assert "tokens read in training | not stated |" in text


def test_notices_are_pointed_at(run: Trained, root: Path) -> None:
    (root / "raw/LICENSES").mkdir()
    assert "are not in this folder." in card.render(run, gather(run, root))


def test_a_damaged_report_is_named(run: Trained, root: Path) -> None:
    (root / "reports/evaluate/metrics.json").write_text("{")
    with pytest.raises(UserError, match=r"evaluate/metrics.json: not a report of this project"):
        gather(run, root)
