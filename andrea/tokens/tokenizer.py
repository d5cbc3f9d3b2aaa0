"""The tokenizer file and what encodes with it: byte ids, BOS, segments.

Id = byte value for 0..255, 256 is BOS, segments follow. The file is one of the `tokenizers`
library: text becomes bytes (its ByteLevel normalizer spells each byte as one printable character),
and a Unigram model finds the cheapest sequence of pieces. Every byte is a piece, so every text
round-trips. BOS is spelled with characters that no byte has, and it is no added token, which would
be searched for in raw text: no text can produce its id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import decoders, models, normalizers

from andrea.common.errors import UserError

BYTES = 256
BOS = BYTES
BOS_PIECE = "⟨bos⟩"
BOS_SCORE = -100.0

Tokens = NDArray[np.uint16]


def _byte_spellings() -> list[str]:
    """The character by which the library's ByteLevel spells each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(BYTES) if byte not in printable]
    spelling = {byte: chr(byte) for byte in printable}
    spelling.update({byte: chr(BYTES + n) for n, byte in enumerate(others)})
    return [spelling[byte] for byte in range(BYTES)]


SPELLINGS = _byte_spellings()


def spell(piece: bytes) -> str:
    """A piece as the tokenizer file writes it."""
    return "".join(SPELLINGS[byte] for byte in piece)


@dataclass(frozen=True)
class Alphabet:
    """Segments by falling score, and (256 + segments,) scores in nats, single bytes first."""

    segments: list[bytes]
    scores: NDArray[np.float64]


def build(alphabet: Alphabet) -> tokenizers.Tokenizer:
    """The library's tokenizer for an alphabet; `.save(path)` writes `tokenizer.json`."""
    pieces = [*SPELLINGS, BOS_PIECE, *map(spell, alphabet.segments)]
    scores = [round(float(score), 6) for score in alphabet.scores]
    scores.insert(BOS, BOS_SCORE)
    built = tokenizers.Tokenizer(
        models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=None, byte_fallback=False)
    )
    built.normalizer = normalizers.ByteLevel()
    built.decoder = decoders.ByteLevel()
    return built


class Tokenizer:
    """Encodes text to uint16 ids and back; never adds BOS by itself.

    `pieces` are the bytes of each id, none for BOS, and `byte_lengths` (V,) how many.
    """

    def __init__(self, library: tokenizers.Tokenizer) -> None:
        self.library = library
        byte_of = {spelling: byte for byte, spelling in enumerate(SPELLINGS)}
        spellings = [str(library.id_to_token(i)) for i in range(library.get_vocab_size())]
        self.pieces = [
            b"" if i == BOS else bytes(byte_of[character] for character in spelling)
            for i, spelling in enumerate(spellings)
        ]
        self.byte_lengths: NDArray[np.int64] = np.array([len(p) for p in self.pieces])

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Read `tokenizer.json`.

        Raises:
            UserError: the file is missing, or not a tokenizer of this kind.
        """
        if not path.is_file():
            raise UserError(f"{path}: no tokenizer there; `dvc repro tokenizer` makes it")
        try:
            library = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise UserError(f"{path}: not a tokenizer file ({error})") from error
        size = library.get_vocab_size()
        first = [library.id_to_token(i) for i in range(BYTES + 1)]
        if first != [*SPELLINGS, BOS_PIECE] or size > 2**16:
            raise UserError(
                f"{path}: ids 0..255 must be the bytes, 256 {BOS_PIECE}, at most 65536 in all"
            )
        return cls(library)

    @property
    def vocabulary_size(self) -> int:
        """V: bytes, BOS and segments."""
        return len(self.pieces)

    def encode(self, text: str) -> Tokens:
        """(T,) ids of a text."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """Ids of each text; the library uses all cores unless told otherwise."""
        encoded = self.library.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(one.ids, dtype=np.uint16) for one in encoded]

    def decode(self, ids: Sequence[int] | NDArray[np.integer]) -> str:
        """The text of (T,) ids; BOS is nothing, and bytes that are no UTF-8 become U+FFFD."""
        return b"".join([self.pieces[i] for i in ids]).decode("utf-8", errors="replace")
