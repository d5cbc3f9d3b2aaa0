"""The folder in which a model is handed on: written for `transformers`, and read without it.

`model.safetensors` and `config.json` are a GPT-2 of the library's own (`andrea.exporting.stock`),
`tokenizer.json` is a file of the `tokenizers` library. Reading takes these three as data: nothing
in the folder is run or imported, whatever else lies there.
"""

from __future__ import annotations

from collections.abc import Mapping
from errno import EIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from andrea.common.errors import UserError, line
from andrea.common.files import sha256, whole_folder, write_json
from andrea.config.training import BYTES_AND_BOS, Scale
from andrea.exporting import stock, tokens, untrusted
from andrea.exporting.untrusted import inside, read_object
from andrea.model.gpt import GPT
from andrea.tokens.tokenizer import BOS, BOS_PIECE, SPELLINGS, Alphabet, Tokenizer, build

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
CARD = "README.md"
GENERATION = "generation_config.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"
FILES = (CONFIG, WEIGHTS, TOKENIZER, CARD, GENERATION, TOKENIZER_CONFIG, TEMPLATE)
PICKLES = ("pytorch_model.bin", "model.bin", "pytorch_model.pt", "model.pt", "model.pkl")
MADE_BY = "andrea export"
DIGESTS = "andrea_sha256"  # in `config.json`: of every other file, hex by name
INFERENCE_ONLY = {"architectures", "dtype", "use_cache"}  # settings that change no logit


def write(path: Path, model: GPT, tokenizer: Tokenizer, card: str) -> None:
    """Write the whole folder or nothing; what was at `path` is replaced.

    Args:
        card: README.md, with front matter.

    Raises:
        OSError: it cannot be written.
    """
    scale = stock.scale_of(model)
    try:
        with whole_folder(path, sync=True) as folder:
            save_file(stock.tensors(model, scale), folder / WEIGHTS, {"format": "pt"})
            write_json(folder / TOKENIZER, tokens.tokenizer_file(tokenizer))
            write_json(folder / TOKENIZER_CONFIG, tokens.tokenizer_config(scale.context))
            write_json(folder / GENERATION, tokens.generation_config())
            (folder / TEMPLATE).write_text(tokens.CHAT_TEMPLATE, encoding="utf-8")
            (folder / CARD).write_text(card, encoding="utf-8")
            (folder / WEIGHTS).chmod((folder / CARD).stat().st_mode)  # for whom the rest is
            digests = {name: sha256(folder / name) for name in FILES if name != CONFIG}
            write_json(folder / CONFIG, _config(scale, digests))
    except SafetensorError as error:
        raise OSError(EIO, str(error), str(path)) from error


def load(path: Path) -> tuple[GPT, Tokenizer]:
    """The network, fp32 on the CPU, and the tokenizer of a folder that `write` made.

    Weights come back to the last bits: the folder keeps them in another form.

    Raises:
        UserError: names the file and what is wrong with it: missing, truncated, of another model,
            too large for its weights, not finite, a link out of the folder, a pickle, or not the
            content that was written there.
    """
    if not path.is_dir():
        raise UserError(f"{path}: no such folder")
    scale = _scale(inside(path, CONFIG))
    file = _weights(path)
    tokenizer = read_tokenizer(inside(path, TOKENIZER))
    if tokenizer.vocabulary_size != scale.vocabulary:
        raise UserError(
            f"{path / TOKENIZER}: {tokenizer.vocabulary_size} ids, {CONFIG} has {scale.vocabulary}"
        )
    # Before anything is made for each layer: how many there are is a number from elsewhere.
    size, least = file.stat().st_size, 4 * scale.parameters
    if size < least:
        raise UserError(f"{file}: {size} bytes, the shape of {CONFIG} takes at least {least}")
    stored = untrusted.read_tensors(file, stock.shapes(scale))
    model = GPT(scale)
    try:
        with torch.no_grad():
            for name, weights in stock.weights(stored, scale):
                model.get_parameter(name).copy_(weights)
    except ValueError as error:
        raise UserError(f"{file}: {line(error)}") from error
    digests = _digests(path / CONFIG)
    for name in (WEIGHTS, TOKENIZER):
        if sha256(path / name) != digests.get(name):
            raise UserError(
                f"{path / name}: not as an export wrote it (by its SHA-256 in {CONFIG})"
            )
    return model, tokenizer


def is_ours(path: Path) -> bool:
    """Whether a folder holds what `write` writes, and nothing else."""
    try:
        names = {entry.name for entry in path.iterdir()}
        return names == set(FILES) and read_object(path / CONFIG).get("made_by") == MADE_BY
    except (OSError, UserError):
        return False


def changed(path: Path) -> str | None:
    """The name of a file that is no longer as `write` wrote it; None where there is none.

    Raises:
        UserError: a file cannot be read.
    """
    digests = _digests(path / CONFIG)
    try:
        wanted = _config(_scale(path / CONFIG), digests)
    except UserError:
        return CONFIG
    if read_object(path / CONFIG) != wanted:
        return CONFIG
    return next((n for n in FILES if n != CONFIG and sha256(path / n) != digests.get(n)), None)


def _config(scale: Scale, digests: Mapping[str, str]) -> dict[str, Any]:
    return stock.config(scale) | {"made_by": MADE_BY, DIGESTS: dict(digests)}


def _digests(path: Path) -> dict[str, Any]:
    digests = read_object(path).get(DIGESTS)
    if not isinstance(digests, dict):
        raise UserError(f"{path}: {DIGESTS} missing, which an export writes; export it again")
    return digests


def _scale(path: Path) -> Scale:
    """The shape that `config.json` tells of, once all other settings are those of `stock`."""
    settings = read_object(path)
    if settings.get("model_type") != "gpt2":
        kind = line(repr(settings.get("model_type")), 40)
        raise UserError(f"{path}: model_type {kind} is not 'gpt2', which an export writes")
    numbers = [
        _count(path, settings, name, most)
        for name, most in (
            ("vocab_size", 2**16), ("n_embd", 2**20), ("n_head", 2**16), ("n_layer", 2**16),
            ("n_positions", 2**24),
        )
    ]  # fmt: skip
    vocabulary, wide, heads, _, context = numbers
    if vocabulary <= BYTES_AND_BOS:
        raise UserError(f"{path}: vocab_size {vocabulary}, {BYTES_AND_BOS + 1} or more are needed")
    if wide % heads or wide < 2 * heads:
        raise UserError(f"{path}: n_embd {wide} does not suit {heads} heads")
    if context < 2:
        raise UserError(f"{path}: n_positions {context}, 2 or more are needed")
    scale = stock.shape_of(*numbers)
    for name, wanted in stock.config(scale).items():
        if name not in INFERENCE_ONLY and (
            name not in settings or not _equal(settings[name], wanted)
        ):
            kind = line(repr(settings.get(name)), 40)
            raise UserError(f"{path}: {name} {kind}, an export of this shape has {wanted!r}")
    return scale


def _count(path: Path, settings: dict[str, Any], name: str, most: int) -> int:
    value = settings.get(name)
    if type(value) is not int or not 1 <= value <= most:
        shown = line(repr(value), 40)
        raise UserError(f"{path}: {name} {shown} is not a whole number from 1 to {most}")
    return value


def _equal(stored: object, wanted: object) -> bool:
    return type(stored) is type(wanted) and stored == wanted


def _weights(path: Path) -> Path:
    """`model.safetensors`; says so where there is only a pickle."""
    if not (path / WEIGHTS).exists():
        for name in PICKLES:
            if (path / name).exists():
                raise UserError(
                    f"{path / name}: a pickle can run code when it is read; {WEIGHTS} is needed"
                )
    return inside(path, WEIGHTS)


def read_tokenizer(path: Path) -> Tokenizer:
    """Build the tokenizer anew from the pieces of a file from elsewhere.

    Raises:
        UserError: the file is none that `write` or the stage `tokenizer` makes.
    """
    settings = read_object(path)
    model = settings.get("model")
    if not isinstance(model, dict):
        raise UserError(f"{path}: model is not an object")
    for place, holder, wanted in (
        ("added_tokens", settings, []),
        ("normalizer", settings, {"type": "ByteLevel"}),
        ("pre_tokenizer", settings, None),
        ("truncation", settings, None),
        ("padding", settings, None),
        ("type", model, "Unigram"),
        ("unk_id", model, None),
        ("byte_fallback", model, False),
    ):
        if place not in holder or not _equal(holder[place], wanted):
            shown = line(repr(holder.get(place)), 40)
            raise UserError(f"{path}: {place} {shown}, an export has {wanted!r}")
    pairs = list(untrusted.checked_pairs(path, model.get("vocab")))
    pieces = [piece for piece, _ in pairs]
    expected = [*SPELLINGS, BOS_PIECE]
    if pieces[: len(expected)] != expected or not len(expected) < len(pieces) <= 2**16:
        raise UserError(
            f"{path}: ids 0..255 must be the bytes, {BOS} {BOS_PIECE}, at most 65536 in all"
        )
    byte_of = {spelling: byte for byte, spelling in enumerate(SPELLINGS)}
    segments = []
    for number, piece in enumerate(pieces[len(expected) :], len(expected)):
        if not piece or not set(piece) <= byte_of.keys():
            raise UserError(f"{path}: model.vocab[{number}]: {line(piece, 40)!r} spells no bytes")
        segments.append(bytes(byte_of[letter] for letter in piece))
    if len(set(pieces)) < len(pieces):
        raise UserError(f"{path}: model.vocab: a piece stands in it twice")
    scores = np.array([score for _, score in pairs])
    return Tokenizer(build(Alphabet(segments, np.delete(scores, BOS))))
