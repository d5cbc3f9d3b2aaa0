"""From training documents to an alphabet: weighted word counts, then Harris segments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from andrea.common.errors import UserError
from andrea.config.text import Tokenizer as Settings
from andrea.tokens import harris, unigram
from andrea.tokens.tokenizer import Alphabet

# A word with the space before it and what an apostrophe adds; digits; signs, with the line break
# that ends the line and the mark of a chat turn after it; line breaks; other white space.
WORD = re.compile(
    r" ?[^\W\d_]+(?:'[a-z]+)?"
    r"| ?\d+"
    r"| ?(?:[^\s\w]|_)+(?:\s*\n\s*[<>]?)?"
    r"|\s*\n\s*[<>]?"
    r"|\s+(?!\S)|\s+"
)


@dataclass(frozen=True)
class Counts:
    """Words of one source and how often they occur; `bytes` is their total length."""

    words: Mapping[bytes, int]
    bytes: int


def count(documents: Iterable[str]) -> Counts:
    """Count the words of documents; memory is that of the word types."""
    words: Counter[str] = Counter()
    for document in documents:
        words.update(WORD.findall(document))
    encoded = {word.encode(): n for word, n in words.items()}
    return Counts(encoded, sum(len(word) * n for word, n in encoded.items()))


def mix(counts: Mapping[str, Counts], weights: Mapping[str, float]) -> dict[bytes, float]:
    """Add up word counts, scaled so that each source has its share of all bytes.

    `weights` need not sum to 1, and sources not named have none. The total number of bytes stays
    that of the weighted sources.

    Raises:
        UserError: a weight names an unknown source, or none of the text has any weight.
    """
    for source in weights:
        if source not in counts:
            raise UserError(
                f"tokenizer.weights.{source}: no such source, known are {', '.join(counts)}"
            )
    used = {s: counts[s] for s in counts if weights.get(s, 0.0) > 0 and counts[s].bytes > 0}
    if not used:
        raise UserError("tokenizer.weights: no source with text has a weight above 0")
    total_bytes = sum(part.bytes for part in used.values())
    total_weight = sum(weights[source] for source in used)
    mixed: dict[bytes, float] = {}
    for source, part in used.items():
        scale = weights[source] / total_weight * total_bytes / part.bytes
        for word, n in part.words.items():
            mixed[word] = mixed.get(word, 0.0) + scale * n
    return mixed


def learn(words: Mapping[bytes, float], segments: int, settings: Settings) -> Alphabet:
    """Choose exactly `segments` segments of two bytes or more from weighted word counts.

    Raises:
        UserError: the text has too few recurring substrings.
    """
    packed = harris.pack(words, settings.longest_word_bytes)
    recurring = harris.substrings(packed, settings.longest_segment_bytes, settings.least_count)
    pieces, weights = harris.candidates(
        packed, recurring, settings.damping, settings.candidates * segments
    )
    if len(pieces) < segments:
        raise UserError(
            f"scale.segments: {segments} asked for, but the training text of the tokenizer has "
            f"only {len(pieces)} recurring segments; ask for fewer or add text"
        )
    chosen, scores = unigram.fit(
        packed, recurring, pieces, weights, segments, settings.piece_cost_nats, settings.shrink
    )
    return Alphabet(chosen, scores)
