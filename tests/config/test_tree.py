"""`params.yaml` as one frozen tree; what is wrong in it is refused in one line.

The line says the key, the value and what is allowed.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from andrea import cli
from andrea.common.codec import encode
from andrea.common.errors import UserError
from andrea.config import tree
from andrea.config.renamed import RENAMED
from andrea.config.training import FORMER_NAMES
from tests.config.conftest import SHIPPED, Params
from tests.contract.conftest import value_at

Change = Callable[..., Params]

REFUSED: list[tuple[dict[str, Any], str]] = [
    # The region of a regime.
    ({"polish.floor": 1.2}, "polish.floor: 1.2 is not allowed, must be from 0 to 1"),
    ({"polish.floor": -0.1}, "polish.floor: -0.1 is not allowed, must be from 0 to 1"),
    ({"polish.floor": "most"}, "polish.floor: 'most' is not a number"),
    ({"polish.floor": True}, "polish.floor: True is not a number"),
    ({"polish.floors": None}, "polish.floors: None is not a mapping of names to values; write {}"),
    ({"warmup.sources": []}, "warmup.sources: none is named, must be `all` or a list of sources"),
    ({"polish.floor": None}, "polish.floor: None is not a number"),
    ({"polish.floor": math.nan}, "polish.floor: nan is not a number"),
    ({"polish.priority": "hermes"}, "polish.priority: unknown source 'hermes', known are"),
    ({"polish.priority": "repo-docs"}, "polish.floor: 0.7 is a floor on repo-docs, which polish"),
    ({"polish.floors": {"nowhere": 0.1}}, "polish.floors.nowhere: unknown source 'nowhere'"),
    ({"firehose.caps": {"nowhere": 0.1}}, "firehose.caps.nowhere: unknown source 'nowhere'"),
    ({"warmup.sources": ["chat", "nowhere"]}, "warmup.sources: unknown source 'nowhere'"),
    ({"warmup.sources": "most"}, "warmup.sources: 'most' is not one of all"),
    ({"polish.floors.hermes3-general": 0.1}, "hermes3-general: set polish.floor instead"),
    ({"firehose.floors": {"chat": 0.6, "irc": 0.6}}, "firehose.floors: sum to 1.2, at most 1 is"),
    ({"polish.floors.chat": 0.3}, "polish.floors: sum to 1.07, at most 1 is allowed"),
    ({"warmup.caps": dict.fromkeys(["chat", "irc"], 0.1), "warmup.sources": ["chat", "irc"]},
     "warmup.caps: sum to 0.2 over its sources, at least 1 is needed"),
    ({"firehose.floors": {"chat": 0.5}, "firehose.caps": {"chat": 0.25}},
     "firehose.floors.chat: 0.5 is above the cap 0.25 of chat"),
    ({"polish.caps.hermes3-general": 0.5}, "polish.floor: 0.7 is above the cap 0.5"),
    ({"polish.floors.repo-docs": 0.1},
     "polish.floors.repo-docs: 0.1 is a floor on repo-docs, which polish excludes"),
    ({"warmup.floors": {"irc": 0.1}}, "warmup.floors.irc: 0.1 is a floor on irc, which warmup"),
    ({"firehose.end": 0.05}, "firehose.end: regimes must end in order, found warmup.end 0.1"),
    ({"polish.end": 0.5}, "firehose.end: regimes must end in order, found warmup.end 0.1, fire"),
    (dict.fromkeys(["warmup.end", "firehose.end", "polish.end"], 0),
     "polish.end: 0 is not allowed, as the run would have no step"),
    # The scale.
    ({"scale": "huge"}, "scale: 'huge' is not one of tiny, laptop, andrea-12m, andrea-120m"),
    ({"scale": 3}, "scale: 3 is not text"),
    ({"scales": 3}, "scales: 3 is not a mapping of names to values"),
    ({"scales.laptop.n_heads": 5}, "scales.laptop.d_model: 96 is not divisible by 5 heads"),
    ({"scales.laptop.steps": -1}, "scales.laptop.steps: -1 is not allowed, must be 1 or more"),
    ({"scales.laptop.steps": 2.5}, "scales.laptop.steps: 2.5 is not a whole number"),
    ({"scales.laptop.steps": True}, "scales.laptop.steps: True is not a whole number"),
    ({"scales.laptop.segments": 65280}, "segments: 65280 is not allowed, must be from 1 to 65279"),
    ({"scales.laptop.lr": 0}, "scales.laptop.lr: 0 is not allowed"),
    ({"scales.tiny.n_heads": 5}, "scales.tiny.d_model: 32 is not divisible by 5 heads"),
    ({"scales.tiny.d_model": 4, "scales.tiny.n_heads": 1},
     "scales.tiny.d_model: 4 with 1 heads is too narrow for bigram init; 8 or more is needed, or"),
    ({"scales.tiny.n_heads": 32},
     "scales.tiny.d_model: 32 with 32 heads is too narrow for bigram init; 64 or more is needed"),
    # The rest, a case for each kind of check.
    ({"curriculum.shortest_phase": 42, "curriculum.longest_phase": 7},
     "curriculum.shortest_phase: 42 is above curriculum.longest_phase (7); ANDREA walks 7 to 42"),
    ({"limits.allow_repeats": "on"}, "limits.allow_repeats: 'on' is not true or false"),
    ({"limits.allow_repeats": 1}, "limits.allow_repeats: 1 is not true or false"),
    ({"bandit.rule": "roulette"}, "bandit.rule: 'roulette' is not one of ducb, ucb1, exp3, fixed"),
    ({"bandit.rule": "exp3", "bandit.exploration": 2},
     "bandit.exploration: 2 is not allowed with rule exp3, must be from 0 to 1"),
    ({"bandit.speed": 1}, "bandit.speed: unknown, allowed are rule, reward,"),
    ({"compute.device": "gpu"}, "compute.device: 'gpu' is not one of auto, cpu, cuda, mps"),
    ({"compute.threads": 0}, "compute.threads: 0 is not one of auto; or compute.threads: 0 is not"),
    ({"seed": -1}, "seed: -1 is not allowed, must be from 0 to 4294967295"),
    ({"seed": "7"}, "seed: '7' is not a whole number"),
    ({"tokenizer.weights.nowhere": 1}, "tokenizer.weights.nowhere: unknown source"),
    ({"tokenizer.weights": {"chat": 0}}, "tokenizer.weights: a source needs a weight above 0"),
    ({"optimizer.beta1": 1}, "optimizer.beta1: 1 is not allowed, must be from 0 to 1, not 1"),
    ({"optimizer.beta2": 1.0}, "optimizer.beta2: 1.0 is not allowed, must be from 0 to 1, not 1"),
    ({"documents": [1]}, "documents: [1] is not a section"),
    ({"geometry.words": ["sea"]}, "geometry.words: must be 4 or more, and no word twice"),
    ({"geometry.words": ["sea"] * 5}, "geometry.words: must be 4 or more, and no word twice"),
    ({"geometry.prompts": []}, "geometry.prompts: none is not allowed, at least one is needed"),
    ({"geometry.prompts": ["a", " "]}, "geometry.prompts[1]: ' ' has no letter"),
    ({"geometry.sharpness": []}, "geometry.sharpness: none is not allowed, at least one is"),
    ({"geometry.map": "umap"}, "geometry.map: 'umap' is not one of pca, tsne"),
    ({"geometry.control": 3}, "geometry.control: 3 is not text"),
    ({"geometry.triangles": [["chat", "irc"]]},
     "geometry.triangles[0]: chat, irc is not allowed, must be three different sources"),
    ({"geometry.triangles": [["chat", "irc", "nowhere"]]},
     "geometry.triangles[0]: unknown source 'nowhere'"),
    ({"wrap": {}}, "wrap: unknown section, allowed are"),
    ({"sources.chat.path": "/etc"}, "sources.chat.path: '/etc' must be a folder under data/raw"),
    ({"sources.chat.path": "data/raw/../x"}, "must be a folder under data/raw"),
    ({"sources.chat.train": "../irc/train.jsonl.gz"},
     "sources.chat.train: '../irc/train.jsonl.gz' must be a file or folder inside data/raw/chat"),
    ({"sources.chat.train": ""}, "sources.chat.train: '' must be a file or folder inside data/raw"),
    ({"sources.chat.eval": "/etc/passwd"}, "sources.chat.eval: '/etc/passwd' must be a file"),
    ({"sources.a/b": {"path": "data/raw/a", "train": "t", "eval": None}},
     "sources.a/b: a name has letters, digits, - and _ only"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "message"), REFUSED, ids=[m[:50] for _, m in REFUSED])
def test_a_wrong_value_is_refused(changed: Change, values: dict[str, Any], message: str) -> None:
    """The message is one line that begins with the key."""
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        tree.read(changed(values))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "key",
    [
        "seed", "scale", "scales", "documents", "polish", "polish.floor", "sources.chat.train",
        "scales.tiny.lr", "limits.max_epochs", "track.experiment",
    ],
)  # fmt: skip
def test_a_missing_key_is_named(changed: Change, key: str) -> None:
    """Nothing has a silent default."""
    with pytest.raises(UserError, match=rf"^{re.escape(key)}: missing in params\.yaml$"):
        tree.read(changed({}, without=key))


OF_SCALES = {f"scales.laptop.{old}": f"scales.laptop.{new}" for old, new in FORMER_NAMES.items()}


@pytest.mark.parametrize(("old", "new"), [*RENAMED.items(), *OF_SCALES.items()])
def test_a_former_name_is_refused_by_a_line_that_gives_the_new_one(
    changed: Change, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    """In the file beside the new one, instead of it, and typed after `-S`."""
    shipped = value_at(changed({}), new)
    told = f"{old}: is called {new} now"
    for params in (changed({old: shipped}), changed({old: shipped}, without=new)):
        with pytest.raises(UserError, match=f"^{re.escape(told)}$"):
            tree.read(params)
    typed = old if "." in old else f"{old}.val_share"
    assert cli.main(["plan", "--no-measure", "-S", f"{typed}=128"]) == 2
    assert capsys.readouterr().err == f"error: {told}\n"


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"polish.floor": 0},
        {"polish.floor": 0, "polish.priority": "repo-docs"},
        {"polish.caps": {}, "polish.floors": {}, "polish.floor": 1},
        {"firehose.floors": {"chat": 0.5, "irc": 0.5}},
        {"warmup.end": 0, "firehose.end": 0},
        {"warmup.end": 1, "firehose.end": 1},
        {"sources.chat.eval": None},
        {"scales.laptop.lr": 1},
        {"compute.threads": 1},
        {"optimizer.beta1": 0, "optimizer.beta2": 0},
        {"scales.tiny.d_model": 8, "scales.tiny.n_heads": 4},
        {"scales.tiny.d_model": 4, "scales.tiny.n_heads": 4, "scales.tiny.bigram_init": 0},
    ],
)
def test_edges_of_what_is_allowed(changed: Change, values: dict[str, Any]) -> None:
    """Floors that sum to exactly 1, regimes of no steps, no floor, an int for a float."""
    tree.read(changed(values))


@pytest.mark.parametrize("scale", ["tiny", "laptop", "andrea-12m", "andrea-120m"])
def test_what_ships_is_valid_at_every_scale(changed: Change, scale: str) -> None:
    """`-S scale=...` alone is enough."""
    tree.read(changed({"scale": scale}))


def test_it_holds_what_the_file_holds(shipped: Params) -> None:
    """Under the same names, in the same order, and the active scale beside them."""
    config = tree.read(shipped)
    assert config == tree.load(SHIPPED)
    held = encode(config)
    held["scale"] = held.pop("scale_name")
    given = {name: source | held["sources"][name] for name, source in shipped["sources"].items()}
    assert held == {**shipped, "sources": given}
    assert list(config.sources) == list(shipped["sources"])
    assert config.scale is config.scales[shipped["scale"]]
    assert list(config.regimes) == ["warmup", "firehose", "polish"]


def test_changes_are_those_typed_after_S() -> None:
    config = tree.load(SHIPPED, ["scale=tiny", "polish.floor=0.5", "polish.floors.chat=0"])
    assert config.scale.d_model == 32
    assert (config.polish.floor, config.polish.floors["chat"]) == (0.5, 0)
    with pytest.raises(UserError, match=r"^polish\.flor: unknown, allowed are end, sources, "):
        tree.load(SHIPPED, ["polish.flor=0.5"])


def test_nothing_in_it_can_be_changed(shipped: Params) -> None:
    config = tree.read(shipped)
    for part in (config, config.scale, config.polish, config.sources["chat"]):
        with pytest.raises(FrozenInstanceError):
            part.seed = 8  # type: ignore[misc, attr-defined]


def test_reading_it_needs_none_of_the_large_libraries() -> None:
    """`andrea plan --no-measure`, `tokenize` and every stage's refusal begin with it."""
    code = "import sys; from andrea.config import tree; print(*sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=SHIPPED.parent
    ).stdout.split()
    assert not {"numpy", "pandas", "pyarrow", "torch", "mlflow", "dvc"} & set(printed)
