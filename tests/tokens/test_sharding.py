from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from andrea.common import files
from andrea.common.errors import UserError
from andrea.config.text import Documents as Settings
from andrea.corpus import splits
from andrea.corpus.documents import Documents
from andrea.tokens import encoding, sharding, shards
from andrea.tokens.tokenizer import BOS, Tokenizer

Write = Callable[[Path, Iterable[str]], Path]
SETTINGS = Settings(probe_share=0.1, val_share=0.1)


def write(
    folder: Path, train: Path, held_out: Path | None, tokenizer_file: Path, settings: Settings
) -> dict[str, Any]:
    evaluation = None if held_out is None else Documents(held_out)
    return sharding.write(folder, Documents(train), evaluation, tokenizer_file, settings)


TEXTS = [f"walking to {n}\n" * (n % 5) + f"{n} héllo 👩\u200d👩 {n}" for n in range(200)]


@pytest.fixture
def shard(tmp_path: Path, write_corpus: Write, tokenizer_file: Path) -> Path:
    train = write_corpus(tmp_path / "raw/train.jsonl.gz", [*TEXTS, TEXTS[3], "held out"])
    evaluation = write_corpus(tmp_path / "raw/eval.jsonl.gz", ["held out", "also", "also"])
    write(tmp_path / "chat", train, evaluation, tokenizer_file, SETTINGS)
    return tmp_path / "chat"


def _digest_of(documents: list[str]) -> str:
    return hashlib.sha256(b"".join(map(splits.digest, documents))).hexdigest()


def _documents(tokens: np.ndarray[Any, Any], tokenizer: Tokenizer) -> list[str]:
    starts = np.flatnonzero(tokens == BOS)
    assert starts[0] == 0
    return [tokenizer.decode(part[1:]) for part in np.split(tokens, starts[1:])]


def test_documents_come_back_each_once(
    shard: Path, tokenizer: Tokenizer, tokenizer_file: Path
) -> None:
    opened = shards.open_shard(shard, tokenizer_file)
    train = _documents(opened.train, tokenizer)
    probe = _documents(opened.probe, tokenizer)
    assert sorted(train + probe) == sorted(TEXTS)
    assert 0 < len(probe) < len(train)
    assert train == [text for text in TEXTS if text in set(train)]
    assert _documents(opened.val, tokenizer) == ["held out", "also"]


def test_the_manifest_says_what_is_there(
    shard: Path, tokenizer: Tokenizer, tokenizer_file: Path
) -> None:
    opened = shards.open_shard(shard, tokenizer_file)
    manifest = opened.manifest
    for name in shards.SPLITS:
        tokens = getattr(opened, name)
        said = manifest["splits"][name]
        assert tokens.dtype == np.dtype("<u2")
        assert not tokens.flags.writeable
        assert said["tokens"] == len(tokens)
        assert said["documents"] == int((tokens == BOS).sum())
        assert said["bytes"] == int(tokenizer.byte_lengths[np.asarray(tokens)].sum())
        assert said["sha256"] == files.sha256(shard / f"{name}.bin")
    assert manifest["duplicates"] == {"train": 1, "val": 1, "train_in_val": 1}
    assert manifest["source"] == "chat"
    assert manifest["vocabulary"] == tokenizer.vocabulary_size
    assert manifest["inputs"] == {
        "train": _digest_of([*TEXTS, TEXTS[3], "held out"]),
        "eval": _digest_of(["held out", "also", "also"]),
        "tokenizer": files.sha256(tokenizer_file),
    }


def test_without_an_evaluation_file_val_is_split_off(
    tmp_path: Path, write_corpus: Write, tokenizer: Tokenizer, tokenizer_file: Path
) -> None:
    train = write_corpus(tmp_path / "train.jsonl", TEXTS)
    manifest = write(tmp_path / "irc", train, None, tokenizer_file, SETTINGS)
    opened = shards.open_shard(tmp_path / "irc", tokenizer_file)
    parts = [_documents(getattr(opened, name), tokenizer) for name in shards.SPLITS]
    assert sorted(text for part in parts for text in part) == sorted(TEXTS)
    assert all(parts)
    assert manifest["inputs"]["eval"] is None


def test_the_same_input_gives_the_same_bytes_in_any_batch_size(
    shard: Path, tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharding, "BATCH_CHARACTERS", 50)
    raw, again = shard.parent / "raw", shard.parent / "again/chat"
    write(again, raw / "train.jsonl.gz", raw / "eval.jsonl.gz", tokenizer_file, SETTINGS)
    for path in shard.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()


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
    tmp_path: Path, write_corpus: Write, tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = write_corpus(tmp_path / "train.jsonl", TEXTS)
    encode = Tokenizer.encode_batch

    def fail(self: Tokenizer, texts: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Tokenizer, "encode_batch", fail)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "irc", train, None, tokenizer_file, SETTINGS)
    assert not (tmp_path / "irc").exists()
    monkeypatch.setattr(Tokenizer, "encode_batch", encode)
    write(tmp_path / "irc", train, None, tokenizer_file, SETTINGS)
    assert len(shards.open_shard(tmp_path / "irc", tokenizer_file).train) > 0


def test_a_bad_line_leaves_no_shard(tmp_path: Path, tokenizer_file: Path) -> None:
    train = tmp_path / "train.jsonl"
    train.write_bytes(b'{"text": "a"}\n' * 3 + b'{"text": "\xff"}\n')
    with pytest.raises(UserError, match=r"train\.jsonl, line 4: invalid UTF-8"):
        write(tmp_path / "irc", train, None, tokenizer_file, SETTINGS)
    assert not (tmp_path / "irc").exists()


def test_encoded_documents_begin_with_bos(tokenizer: Tokenizer) -> None:
    encoded = list(encoding.encode_documents(["walk", "", "talk"], tokenizer))
    assert [int(ids[0]) for ids in encoded] == [BOS] * 3
    assert [tokenizer.decode(ids) for ids in encoded] == ["walk", "", "talk"]


LONG = "It was the best of times, it was the worst of times, it was the age of wisdom. {}"


@pytest.mark.parametrize(
    ("handling", "found", "kept"), [("keep", 0, 1), ("report", 1, 1), ("remove", 1, 0)]
)
def test_near_duplicates_of_held_out_text_are_kept_counted_or_removed(
    tmp_path: Path, write_corpus: Write, tokenizer: Tokenizer, tokenizer_file: Path,
    handling: Any, found: int, kept: int,
) -> None:  # fmt: skip
    near = LONG.format("Foolishness")
    train = write_corpus(tmp_path / "train.jsonl", [*TEXTS, near])
    held_out = write_corpus(tmp_path / "eval.jsonl", [LONG.format("")])
    settings = Settings(0.1, 0.1, near_duplicates=handling, near_threshold=0.7)
    manifest = write(tmp_path / "irc", train, held_out, tokenizer_file, settings)
    assert manifest["near_duplicates"] == {"handling": handling, "train_of_val": found}
    opened = shards.open_shard(tmp_path / "irc", tokenizer_file)
    written = _documents(opened.train, tokenizer) + _documents(opened.probe, tokenizer)
    assert written.count(near) == kept
    assert len(written) == len(TEXTS) + kept


def test_personal_data_is_masked_where_that_is_asked_for(
    tmp_path: Path, write_corpus: Write, tokenizer: Tokenizer, tokenizer_file: Path
) -> None:
    texts = [*TEXTS, "write to ann@example.org", "or to bob@example.org"]
    train = write_corpus(tmp_path / "train.jsonl", texts)
    for masked, count in ((False, 0), (True, 2)):
        read = Documents(train, masked=masked)
        manifest = sharding.write(tmp_path / "irc", read, None, tokenizer_file, SETTINGS)
        opened = shards.open_shard(tmp_path / "irc", tokenizer_file)
        parts = [_documents(getattr(opened, name), tokenizer) for name in shards.SPLITS]
        text = "".join(document for part in parts for document in part)
        assert sum(manifest["personal_data"]["masked"].values()) == count
        assert text.count("@example.org") == 2 - count
