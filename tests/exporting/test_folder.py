"""What an export wrote is read back; anything else is refused in one line that names the file."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from andrea.common.errors import UserError
from andrea.common.files import read_json, write_json
from andrea.exporting import folder, stock
from andrea.exporting.trained import Trained
from andrea.model.gpt import GPT, initialise
from andrea.tokens.tokenizer import Tokenizer

READ = (folder.CONFIG, folder.WEIGHTS, folder.TOKENIZER)


def refused(path: Path) -> str:
    """What `load` says, in one printable line that begins with a file of the folder."""
    with pytest.raises(UserError) as error:
        folder.load(path)
    told = str(error.value)
    assert told.isprintable()
    assert told.startswith(str(path))
    assert len(told) < len(str(path)) + 300
    return told.removeprefix(f"{path}").removeprefix("/")


def test_there_and_back(source: Trained, made: Path) -> None:
    """Weights to the last bits, logits with them, ids exactly."""
    model, tokenizer = folder.load(made)
    for name, weights in model.named_parameters():
        ours = source.model.get_parameter(name)
        assert (weights - ours).abs().max() <= 2e-7 * ours.abs().max()
    ids = torch.randint(0, source.scale.vocabulary, (3, source.scale.context))
    with torch.no_grad():
        ours, theirs = source.model(ids), model(ids)
    assert (ours - theirs).abs().max() <= 1e-5 * ours.abs().max()
    assert tokenizer.pieces == source.tokenizer.pieces


@pytest.fixture(scope="module")
def again(made: Path) -> Tokenizer:
    return folder.read_tokenizer(made / folder.TOKENIZER)


@given(text=st.text())
def test_the_tokenizer_is_the_same(source: Trained, again: Tokenizer, text: str) -> None:
    assert np.array_equal(again.encode(text), source.tokenizer.encode(text))


def test_equal_models_give_equal_bytes(source: Trained, made: Path, tmp_path: Path) -> None:
    folder.write(tmp_path / "m", source.model, source.tokenizer, "# A card\n")
    for name in folder.FILES:
        assert (tmp_path / "m" / name).read_bytes() == (made / name).read_bytes()
    assert {path.name for path in (tmp_path / "m").iterdir()} == set(folder.FILES)


def test_columns_of_the_lay_are_orthonormal_and_centred() -> None:
    for width, heads in ((2, 1), (96, 3), (384, 12), (7, 7)):
        A = stock.lay(width, heads)
        assert torch.allclose(A.T @ A, torch.eye(width, dtype=torch.float64), atol=1e-14)
        assert A.sum(0).abs().max() < 1e-14


@pytest.mark.parametrize("name", READ)
def test_a_missing_file_is_named(copy: Path, name: str) -> None:
    (copy / name).unlink()
    assert refused(copy) == f"{name}: missing"
    (copy / name).symlink_to("nowhere")
    assert refused(copy) == f"{name}: missing (a link to nothing)"
    (copy / name).unlink()
    (copy / name).mkdir()
    assert refused(copy) == f"{name}: not a regular file"
    (copy / name).rmdir()
    os.mkfifo(copy / name)
    assert refused(copy) == f"{name}: not a regular file"


@pytest.mark.parametrize("name", READ)
def test_a_link_out_of_the_folder_is_refused(copy: Path, made: Path, name: str) -> None:
    (copy / name).unlink()
    (copy / name).symlink_to(made / name)
    assert refused(copy) == f"{name}: a link out of its folder"
    (copy / name).unlink()
    (copy / "kept").mkdir()
    (copy / "kept" / name).write_bytes((made / name).read_bytes())
    (copy / name).symlink_to(Path("kept", name))
    folder.load(copy)


def test_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("absent", "file"):
        with pytest.raises(UserError, match=f"{name}: no such folder"):
            folder.load(tmp_path / name)


class Hostile:
    """Unpickled, it makes the file that it was given."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.marker,))


@pytest.mark.parametrize("name", [*folder.PICKLES, *READ])
def test_a_pickle_is_never_opened(copy: Path, tmp_path: Path, name: str) -> None:
    """In place of the weights, and under every name that is read."""
    marker = tmp_path / "ran"
    if name in folder.PICKLES:
        (copy / folder.WEIGHTS).unlink()
    for write in (torch.save, lambda value, path: path.write_bytes(pickle.dumps(value))):
        write(Hostile(marker), copy / name)
        told = refused(copy)
        assert told.startswith(f"{name}: ")
        assert ("can run code" in told) == (name in folder.PICKLES)
    assert not marker.exists()
    pickle.loads((copy / name).read_bytes())
    assert marker.exists()


def test_code_in_the_folder_is_not_run(copy: Path, tmp_path: Path) -> None:
    """Neither a module that the config names nor one that Python would import by itself."""
    marker = tmp_path / "ran"
    for name in ("modeling_gpt2.py", "__init__.py", "sitecustomize.py", "torch.py"):
        (copy / name).write_text(f"open({str(marker)!r}, 'w')")
    config = read_json(copy / folder.CONFIG)
    config["auto_map"] = {"AutoModelForCausalLM": "modeling_gpt2.GPT2LMHeadModel"}
    write_json(copy / folder.CONFIG, config)
    before = list(sys.path)
    folder.load(copy)
    assert not marker.exists()
    assert sys.path == before


CONFIGS: dict[str, tuple[dict[str, Any], str]] = {
    "another model": ({"model_type": "llama"}, "model_type 'llama' is not 'gpt2'"),
    "letters that move the cursor": ({"model_type": "\x1b[2J\n"}, "model_type '"),
    "absurd width": ({"n_embd": 10**12}, "n_embd 1000000000000 is not a whole number from 1 to"),
    "absurd layers": ({"n_layer": 2**16}, "bytes, the shape of config.json takes at least"),
    "absurd context": ({"n_positions": 2**24}, "the shape of config.json takes at least"),
    "one layer more": ({"n_layer": 3}, "the shape of config.json takes at least"),
    "one layer less": ({"n_layer": 1}, "h.1.attn.c_attn.bias' does not belong there"),
    "no width": ({"n_embd": None}, "n_embd None is not a whole number"),
    "negative": ({"n_head": -3}, "n_head -3 is not a whole number"),
    "true": ({"n_layer": True}, "n_layer True is not a whole number"),
    "a fraction": ({"n_layer": 2.0}, "n_layer 2.0 is not a whole number"),
    "other heads": ({"n_head": 9}, ", an export of this shape has"),
    "heads that do not divide": ({"n_head": 5}, "n_embd 27 does not suit 5 heads"),
    "few ids": ({"vocab_size": 200}, "vocab_size 200, 258 or more are needed"),
    "other ids": ({"vocab_size": 264}, "tokenizer.json: 263 ids, config.json has 264"),
    "another activation": ({"activation_function": "gelu"}, "activation_function 'gelu', an "),
    "another epsilon": ({"layer_norm_epsilon": 1e-5}, "layer_norm_epsilon 1e-05, an export"),
    "tied": ({"tie_word_embeddings": True}, "tie_word_embeddings True, an export"),
    "dropout": ({"attn_pdrop": "0.0"}, "attn_pdrop '0.0', an export of this shape has 0.0"),
}


@pytest.mark.parametrize(("change", "message"), CONFIGS.values(), ids=CONFIGS)
def test_a_wrong_config_is_refused(copy: Path, change: dict[str, Any], message: str) -> None:
    write_json(copy / folder.CONFIG, read_json(copy / folder.CONFIG) | change)
    assert message in refused(copy)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "[" * 100_000, '{"a": NaN}', '{"a": 1, "a": 2}',
        f'{{"a": 1{"0" * 5000}}}',
    ],
    ids=["empty", "cut", "list", "null", "deep", "NaN", "twice", "long"],
)  # fmt: skip
@pytest.mark.parametrize("name", [folder.CONFIG, folder.TOKENIZER])
def test_broken_json_is_refused(copy: Path, name: str, text: str) -> None:
    (copy / name).write_text(text)
    assert refused(copy).startswith(f"{name}: not ")


def test_a_file_without_end_is_not_read(copy: Path) -> None:
    with (copy / folder.CONFIG).open("r+b") as file:
        file.truncate(2**40)
    assert refused(copy).startswith("config.json: 1099511627776 bytes, allowed are")


Tensors = dict[str, torch.Tensor]
QKV, HEAD = "transformer.h.0.attn.c_attn.weight", "lm_head.weight"
TENSORS: dict[str, tuple[Callable[[Tensors], object], str]] = {
    "missing": (lambda t: t.pop("transformer.ln_f.bias"), "transformer.ln_f.bias is missing"),
    "one more": (lambda t: t.update({"x\x1b[2J": torch.zeros(1)}), "does not belong there"),
    "halves": (lambda t: t.update({HEAD: t[HEAD].half()}), "lm_head.weight is F16, needed is F32"),
    "bytes": (lambda t: t.update({QKV: t[QKV].view(torch.int32)}), "is I32, needed is F32"),
    "transposed": (lambda t: t.update({QKV: t[QKV].T.contiguous()}), "has shape"),
    "not a number": (lambda t: t[HEAD][3, 2].fill_(torch.nan), "lm_head.weight holds a number"),
    "infinite": (lambda t: t[QKV][0, 0].fill_(torch.inf), "c_attn.weight holds a number that"),
    "a bias": (lambda t: t["transformer.ln_f.bias"][0].fill_(1e-9), "ln_f.bias is not the const"),
    "trained on": (lambda t: t[HEAD].add_(0.01), "lm_head.weight is none that an export writes"),
    "a feature too many": (lambda t: t[QKV][:, 8].fill_(1.0), "c_attn.weight is none that an"),
}


@pytest.mark.parametrize(("spoil", "message"), TENSORS.values(), ids=TENSORS)
def test_wrong_tensors_are_refused(
    copy: Path, spoil: Callable[[Tensors], object], message: str
) -> None:
    tensors = load_file(copy / folder.WEIGHTS)
    with torch.no_grad():
        spoil(tensors)
    save_file(tensors, copy / folder.WEIGHTS)
    told = refused(copy)
    assert told.startswith("model.safetensors: ")
    assert message in told or "bytes do not hold" in told


VOCABULARIES: dict[str, tuple[Callable[[Any], object], str]] = {
    "no list": (lambda t: t["model"].update(vocab={}), "model.vocab is not a list"),
    "no pair": (lambda t: t["model"]["vocab"].append("a"), "is not a piece with a score"),
    "no score": (lambda t: t["model"]["vocab"].append(["ab", None]), "not a piece with a score"),
    "infinite": (lambda t: t["model"]["vocab"].append(["ab", 1e300 * 10]), "not a piece with a"),
    "no bytes": (lambda t: t["model"]["vocab"].append(["a b", -1.0]), "'a b' spells no bytes"),
    "empty": (lambda t: t["model"]["vocab"].append(["", -1.0]), "'' spells no bytes"),
    "twice": (lambda t: t["model"]["vocab"].append(["the", -1.0]), "a piece stands in it twice"),
    "short": (lambda t: t["model"]["vocab"].pop(), "262 ids, config.json has 263"),
    "only bytes": (lambda t: t["model"].update(vocab=t["model"]["vocab"][:257]), "ids 0..255 must"),
    "swapped": (lambda t: t["model"]["vocab"].reverse(), "ids 0..255 must be the bytes"),
    "another kind": (lambda t: t["model"].update(type="BPE"), "type 'BPE', an export has 'Unig"),
    "added": (lambda t: t.update(added_tokens=[{"id": 256}]), "added_tokens [{'id': 256}], an"),
    "a pattern": (lambda t: t.update(normalizer={"type": "Replace"}), "normalizer {'type': 'Rep"),
    "no model": (lambda t: t.update(model=[]), "model is not an object"),
}


@pytest.mark.parametrize(("spoil", "message"), VOCABULARIES.values(), ids=VOCABULARIES)
def test_another_tokenizer_is_refused(
    copy: Path, spoil: Callable[[Any], object], message: str
) -> None:
    found = read_json(copy / folder.TOKENIZER)
    spoil(found)
    (copy / folder.TOKENIZER).write_text(json.dumps(found).replace("Infinity", "1e999"))
    told = refused(copy)
    assert told.startswith("tokenizer.json: ")
    assert message in told


@pytest.mark.parametrize("name", READ)
def test_every_truncation_is_refused(copy: Path, name: str) -> None:
    """A file that lost its end: forty lengths, by the file's name."""
    raw = (copy / name).read_bytes()
    rng = np.random.default_rng(0)
    for length in {0, 1, 8, len(raw) - 2, *rng.integers(0, len(raw) - 2, 40).tolist()}:
        (copy / name).write_bytes(raw[:length])
        assert re.match(rf"{re.escape(name)}: ", refused(copy))


@pytest.mark.parametrize("name", READ)
def test_no_flipped_bit_is_more_than_a_wrong_number(copy: Path, source: Trained, name: str) -> None:
    """Refused by name, or a model of the same shape with finite numbers."""
    raw = (copy / name).read_bytes()
    rng = np.random.default_rng(1)
    told = 0
    for place in rng.integers(0, min(len(raw), 20_000), 60):
        spoiled = bytearray(raw)
        spoiled[place] ^= 1 << rng.integers(8)
        (copy / name).write_bytes(spoiled)
        try:
            model, tokenizer = folder.load(copy)
        except UserError as error:
            assert str(error).startswith(str(copy))
            assert str(error).isprintable()
            told += 1
        else:
            assert tokenizer.vocabulary_size == source.scale.vocabulary
            assert all(weights.isfinite().all() for weights in model.parameters())
    assert told > 0


def test_whole_files_of_another_model_are_refused(copy: Path, source: Trained) -> None:
    """Each good by itself, and of the same shape."""
    vocabulary = read_json(copy / folder.TOKENIZER)
    pairs = vocabulary["model"]["vocab"]
    pairs[-1], pairs[-2] = pairs[-2], pairs[-1]
    before = (copy / folder.TOKENIZER).read_bytes()
    write_json(copy / folder.TOKENIZER, vocabulary)
    assert (
        refused(copy) == "tokenizer.json: not as an export wrote it (by its SHA-256 in config.json)"
    )
    (copy / folder.TOKENIZER).write_bytes(before)
    other = GPT(source.scale)
    initialise(other, 9)
    folder.write(copy.parent / "other", other, source.tokenizer, "")
    shutil.copy(copy.parent / "other" / folder.WEIGHTS, copy)
    assert refused(copy).startswith("model.safetensors: not as an export wrote it")
    config = read_json(copy / folder.CONFIG)
    del config[folder.DIGESTS]
    write_json(copy / folder.CONFIG, config)
    assert refused(copy).startswith("config.json: andrea_sha256 missing")


@pytest.mark.parametrize("name", folder.FILES)
def test_a_changed_file_is_found(copy: Path, name: str) -> None:
    assert folder.changed(copy) is None
    text = (copy / name).read_bytes()
    (copy / name).write_bytes(text.replace(b"a", b"b", 1) + b" ")
    assert folder.changed(copy) == name


def test_only_what_an_export_wrote_is_ours(copy: Path) -> None:
    assert folder.is_ours(copy)
    (copy / "mine.txt").touch()
    assert not folder.is_ours(copy)
    (copy / "mine.txt").unlink()
    (copy / folder.CARD).unlink()
    assert not folder.is_ours(copy)
    assert not folder.is_ours(copy / "absent")
