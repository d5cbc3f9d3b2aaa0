from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from andrea.common import files
from andrea.common.errors import UserError
from andrea.config.text import Documents as Settings
from andrea.corpus import collect
from andrea.corpus.documents import open_documents
from andrea.corpus.text import Text
from andrea.tokens import encoding, sharding, shards
from andrea.tokens.tokenizer import BOS, Tokenizer

Write = Callable[[Path, Iterable[str]], Path]
SETTINGS = Settings(probe_share=0.1, val_share=0.1)
TEXTS = [f"walking to {n}\n" * (n % 5) + f"{n} héllo 👩\u200d👩 {n}" for n in range(200)]


@pytest.fixture
def documents(tmp_path: Path, write_corpus: Write) -> Path:
    """Of the source `chat`."""
    train = write_corpus(tmp_path / "raw/train.jsonl.gz", [*TEXTS, TEXTS[3], "held out"])
    evaluation = write_corpus(tmp_path / "raw/eval.jsonl.gz", ["held out", "also", "also"])
    collect.write(tmp_path / "documents/chat", Text(train), Text(evaluation), SETTINGS)
    return tmp_path / "documents/chat"


@pytest.fixture
def shard(tmp_path: Path, documents: Path, tokenizer_file: Path) -> Path:
    sharding.write(tmp_path / "chat", open_documents(documents), tokenizer_file)
    return tmp_path / "chat"


def _documents(tokens: np.ndarray[Any, Any], tokenizer: Tokenizer) -> list[str]:
    starts = np.flatnonzero(tokens == BOS)
    assert starts[0] == 0
    return [tokenizer.decode(part[1:]) for part in np.split(tokens, starts[1:])]


def test_documents_come_back_each_once(
    shard: Path, documents: Path, tokenizer: Tokenizer, tokenizer_file: Path
) -> None:
    opened = shards.open_shard(shard, tokenizer_file)
    for name in shards.SPLITS:
        texts = list(open_documents(documents).texts(name))
        assert _documents(getattr(opened, name), tokenizer) == texts != []


def test_the_manifest_says_what_is_there(
    shard: Path, documents: Path, tokenizer: Tokenizer, tokenizer_file: Path
) -> None:
    opened = shards.open_shard(shard, tokenizer_file)
    manifest = opened.manifest
    for name in shards.SPLITS:
        tokens = getattr(opened, name)
        about = manifest["splits"][name]
        assert tokens.dtype == np.dtype("<u2")
        assert not tokens.flags.writeable
        assert about["tokens"] == len(tokens)
        assert about["documents"] == int((tokens == BOS).sum())
        assert about["bytes"] == int(tokenizer.byte_lengths[np.asarray(tokens)].sum())
        assert about["sha256"] == files.sha256(shard / f"{name}.bin")
    assert manifest["source"] == "chat"
    assert manifest["vocabulary"] == tokenizer.vocabulary_size
    assert manifest["inputs"] == {
        "documents": files.sha256(documents / "manifest.json"),
        "tokenizer": files.sha256(tokenizer_file),
    }


def test_the_same_input_gives_the_same_bytes_in_any_batch_size(
    shard: Path, documents: Path, tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "batches", partial(encoding.batches, characters=50))
    sharding.write(shard.parent / "again/chat", open_documents(documents), tokenizer_file)
    for path in shard.iterdir():
        assert path.read_bytes() == (shard.parent / "again/chat" / path.name).read_bytes()


@pytest.mark.parametrize("name", ["train.bin", "probe.bin", "val.bin"])
def test_damage_is_found_and_named(shard: Path, name: str, tokenizer_file: Path) -> None:
    path = shard / name
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 4
    for damaged, reason in [
        (bytes(flipped), "was changed"),
        (whole[:-2], "bytes instead of"),
        (whole + b"\0\0", "bytes instead of"),
        (b"", "has 0 bytes"),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=reason) as caught:
            shards.open_shard(shard, tokenizer_file)
        assert f"shard chat: {path}" in str(caught.value)
    path.unlink()
    with pytest.raises(UserError, match="is missing"):
        shards.open_shard(shard, tokenizer_file)


@pytest.mark.parametrize(
    "change", [{"format": 1}, {"inputs": {}}, {"splits": {}}, {"splits": None}, "{", "[]"]
)
def test_a_wrong_manifest_is_refused(
    shard: Path, change: dict[str, Any] | str, tokenizer_file: Path
) -> None:
    path = shard / "manifest.json"
    if isinstance(change, str):
        path.write_text(change)
    else:
        path.write_text(json.dumps(files.read_json(path) | change))
    with pytest.raises(UserError, match=r"shard chat: .*manifest\.json"):
        shards.open_shard(shard, tokenizer_file)
    path.unlink()
    with pytest.raises(UserError, match=r"manifest\.json is missing"):
        shards.open_shard(shard, tokenizer_file)


def test_a_shard_of_another_tokenizer_is_refused(shard: Path, tmp_path: Path) -> None:
    other = tmp_path / "tokenizer.json"
    reason = "shard chat: .*made with another tokenizer than .*tokenizer.json"
    with pytest.raises(UserError, match=reason):
        shards.open_shard(shard, other)
    other.write_text("{}")
    with pytest.raises(UserError, match=reason):
        shards.open_shard(shard, other)


def test_an_interrupted_write_leaves_no_shard(
    tmp_path: Path, documents: Path, tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = Tokenizer.encode_batch

    def fail(self: Tokenizer, texts: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Tokenizer, "encode_batch", fail)
    with pytest.raises(KeyboardInterrupt):
        sharding.write(tmp_path / "irc", open_documents(documents), tokenizer_file)
    assert not (tmp_path / "irc").exists()
    monkeypatch.setattr(Tokenizer, "encode_batch", encode)
    sharding.write(tmp_path / "irc", open_documents(documents), tokenizer_file)
    assert len(shards.open_shard(tmp_path / "irc", tokenizer_file).train) > 0


def test_encoded_documents_begin_with_bos(tokenizer: Tokenizer) -> None:
    encoded = list(encoding.encode_documents(["walk", "", "talk"], tokenizer))
    assert [int(ids[0]) for ids in encoded] == [BOS] * 3
    assert [tokenizer.decode(ids) for ids in encoded] == ["walk", "", "talk"]


def test_all_documents_are_encoded_one_after_the_other(tokenizer: Tokenizer) -> None:
    texts = ["walk", "", "talk"]
    assert _documents(encoding.encode_all(texts, tokenizer), tokenizer) == texts
