from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from andrea.common.errors import UserError
from andrea.tokens import tokenizer as module
from andrea.tokens.tokenizer import BOS, BOS_PIECE, Tokenizer

HARD = [
    "",
    " ",
    "\t\tx \t",
    "a" + " " * 1000 + "b",
    "\r\n\n\r\x00\x01\x1f\x7f\x80\x9f",
    "👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 👍🏽",
    "e\u0301 n\u0303 Z\u0351\u036b\u0343 \u1e9b\u0323",
    "漢字かな交じり文 한국어 ภาษาไทย \u202eabc\u202c",
    "\ufeff\ufffe\uffff\U0010ffff\u2028\u2029\u0085\ufffd",
    BOS_PIECE,
    f"a {BOS_PIECE} b{BOS_PIECE}",
    "<bos> <s> </s> <|endoftext|> <unk> <0x41> ▁ ##a",
    "".join(module.SPELLINGS),
    "can 't wo n't ( x ) , y . z ? 's",
    "x" * 1_000_000,
    "word " * 20_000,
    " " * 100_000,
]


@pytest.fixture(scope="module")
def fast(tokenizer_file: Path) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_file))


def _check(tokenizer: Tokenizer, fast: PreTrainedTokenizerFast, text: str) -> None:
    ids = tokenizer.encode(text)
    assert ids.dtype == np.uint16
    assert BOS not in ids
    assert tokenizer.decode(ids) == text
    assert int(tokenizer.byte_lengths[ids].sum()) == len(text.encode())
    assert tokenizer.library.decode(ids.tolist(), skip_special_tokens=False) == text
    assert fast(text)["input_ids"] == ids.tolist()
    assert fast.decode(ids.tolist()) == text


@pytest.mark.parametrize("text", HARD, ids=range(len(HARD)))
def test_hard_texts_round_trip_without_bos(
    tokenizer: Tokenizer, fast: PreTrainedTokenizerFast, text: str
) -> None:
    _check(tokenizer, fast, text)


@settings(max_examples=200)
@given(text=st.text() | st.text("abdeginkstw<>⟨⟩o \n\u0301\u200d👩", max_size=40))
def test_every_text_round_trips_without_bos(
    tokenizer: Tokenizer, fast: PreTrainedTokenizerFast, text: str
) -> None:
    _check(tokenizer, fast, text)


def test_literal_spellings_of_the_pieces_round_trip(
    tokenizer: Tokenizer, fast: PreTrainedTokenizerFast
) -> None:
    for number in range(tokenizer.vocabulary_size):
        _check(tokenizer, fast, str(tokenizer.library.id_to_token(number)))
        _check(tokenizer, fast, tokenizer.decode([number]))


def test_bos_as_a_special_token_is_not_read_from_text_that_is_split(tokenizer_file: Path) -> None:
    fast = PreTrainedTokenizerFast(
        tokenizer_file=str(tokenizer_file), bos_token=BOS_PIECE, split_special_tokens=True
    )
    assert fast.bos_token_id == BOS
    assert BOS not in fast(f"a{BOS_PIECE}")["input_ids"]
    assert len(fast) == Tokenizer.load(tokenizer_file).vocabulary_size


@pytest.mark.slow
def test_a_document_of_five_megabytes_round_trips(tokenizer: Tokenizer) -> None:
    rng = np.random.default_rng([5])
    text = "".join(map(chr, rng.integers(32, 1000, 3_300_000)))
    assert len(text.encode()) > 5_000_000
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_ids_are_bytes_then_bos_then_segments(tokenizer: Tokenizer) -> None:
    assert tokenizer.pieces[:256] == [bytes([byte]) for byte in range(256)]
    assert tokenizer.pieces[BOS] == b""
    assert tokenizer.vocabulary_size == 257 + 64
    assert tokenizer.byte_lengths[BOS] == 0
    assert (tokenizer.byte_lengths[257:] >= 2).all()
    assert len(set(tokenizer.pieces)) == tokenizer.vocabulary_size


def test_segments_are_used(tokenizer: Tokenizer) -> None:
    assert [tokenizer.pieces[i] for i in tokenizer.encode(" walking")] == [b" walk", b"ing"]


def test_a_batch_is_its_texts(tokenizer: Tokenizer) -> None:
    texts = ["walk", "", "talking to"]
    for ids, text in zip(tokenizer.encode_batch(texts), texts, strict=True):
        np.testing.assert_array_equal(ids, tokenizer.encode(text))


def test_a_cut_character_becomes_the_replacement(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("ü")
    assert tokenizer.decode(ids[:1]) == "\ufffd"
    assert tokenizer.decode([BOS, *ids.tolist(), BOS]) == "ü"


def test_a_lone_surrogate_is_no_text(tokenizer: Tokenizer) -> None:
    with pytest.raises(TypeError):
        tokenizer.encode("\ud800")


def test_what_is_no_tokenizer_is_refused(tmp_path: Path, tokenizer_file: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with pytest.raises(UserError, match="no tokenizer there"):
        Tokenizer.load(path)
    path.write_text("{")
    with pytest.raises(UserError, match="not a tokenizer file"):
        Tokenizer.load(path)
    content = json.loads(tokenizer_file.read_text())
    content["model"]["vocab"][0], content["model"]["vocab"][1] = content["model"]["vocab"][1::-1]
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"ids 0\.\.255 must be the bytes"):
        Tokenizer.load(path)
