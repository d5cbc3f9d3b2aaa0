"""The original's file and its segments: both, whole, and enough to read a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from andrea.common.errors import UserError
from andrea.exporting import binary, original
from andrea.exporting.trained import Trained
from andrea.tokens.tokenizer import BOS, Tokenizer
from andrea.training import checkpoint


def test_both_files(files: Path, source: Trained, tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    written = binary.write(files / checkpoint.FILE, files / "tokenizer.json", target)
    assert written.parameters == source.scale.parameters
    assert {path.name for path in tmp_path.iterdir()} == {"a.bin", "a.segments.json"}
    assert binary.is_original(target)
    assert binary.are_segments(tmp_path / "a.segments.json")
    original.write(files / checkpoint.FILE, tmp_path / "b.bin")
    assert target.read_bytes() == (tmp_path / "b.bin").read_bytes()


def test_segments_suffice_to_read_and_to_cut_a_text(source: Trained) -> None:
    """Cut into the pieces with the largest sum of scores, by plain dynamic programming."""
    found = binary.segments(source.tokenizer, source.tokenizer_sha256)
    single = [bytes([byte]) for byte in range(BOS)]
    pieces = [*single, b"", *map(bytes.fromhex, found["segments_hex"])]
    assert pieces == source.tokenizer.pieces
    assert found["bos_id"] + 1 == found["first_segment_id"] == BOS + 1
    scores = dict(
        zip(
            pieces,
            [*found["byte_scores_nats"], 0.0, *found["segment_scores_nats"]],
            strict=True,
        )
    )
    ids = {piece: number for number, piece in enumerate(pieces)}
    for text in ("the river\n< \u00e9", "there", "\u00e9x river > "):
        raw = text.encode()
        best: list[tuple[float, list[int]]] = [(0.0, [])]
        for end in range(1, len(raw) + 1):
            best.append(
                max(
                    (
                        best[start][0] + scores[raw[start:end]],
                        [*best[start][1], ids[raw[start:end]]],
                    )
                    for start in range(end)
                    if raw[start:end] in scores
                )
            )
        assert best[-1][1] == source.tokenizer.encode(text).tolist()


def test_another_tokenizer_is_refused(files: Path, tmp_path: Path) -> None:
    other = tmp_path / "tokenizer.json"
    text = (files / "tokenizer.json").read_text()
    other.write_text(text.replace("-9.0", "-8.0"))
    Tokenizer.load(other)
    with pytest.raises(UserError, match=r"not the tokenizer that .* was trained with"):
        binary.write(files / checkpoint.FILE, other, tmp_path / "a.bin")
    assert list(tmp_path.iterdir()) == [other]


def test_a_failure_leaves_neither_file(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise UserError("x: cannot be written (No space left on device)")

    monkeypatch.setattr(original, "write", full)
    with pytest.raises(UserError, match="No space left"):
        binary.write(files / checkpoint.FILE, files / "tokenizer.json", tmp_path / "a.bin")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("raw", [b"", b"precious", bytes(8), b"\1\0\0\0\1\0\0\0" + bytes(13)])
def test_what_is_not_ours(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "a").write_bytes(raw)
    assert not binary.is_original(tmp_path / "a")
    assert not binary.are_segments(tmp_path / "a")
    (tmp_path / "a").write_bytes(b"\1\0\0\0\1\0\0\0" + bytes(12))
    assert binary.is_original(tmp_path / "a")
