"""An original checkpoint file and, beside it, its segments: the bytes that each token id means.

The original's own form of segments is not public; this one is plain enough to be turned into any.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from andrea.common.errors import UserError
from andrea.common.files import sha256, whole_file, write_json
from andrea.config.training import Scale
from andrea.exporting import original, trained
from andrea.exporting.untrusted import read_object
from andrea.tokens.tokenizer import BOS, BYTES, Tokenizer
from andrea.training import checkpoint

ENDING = ".segments.json"
FORMAT = "andrea segments 1"


def segments_path(binary: Path) -> Path:
    """`andrea.bin` has `andrea.segments.json`."""
    return binary.with_name(binary.stem + ENDING)


def write(source: Path, tokenizer_file: Path, target: Path) -> original.Written:
    """Write both files, each whole or not at all; what was there is replaced.

    Args:
        source: a checkpoint of ours.

    Raises:
        UserError: as `original.write`, or checkpoint and tokenizer do not belong together.
        OSError: the segments cannot be written.
    """
    facts = checkpoint.read_note(source)["facts"]
    scale: Scale = checkpoint.checked(source, facts.get("scale"), Scale, "scale")
    tokenizer = trained.read_tokenizer(source, facts, scale, tokenizer_file)
    with whole_file(segments_path(target), sync=True) as part:
        write_json(part, segments(tokenizer, sha256(tokenizer_file)))
        return original.write(source, target)


def segments(tokenizer: Tokenizer, tokenizer_sha256: str) -> dict[str, Any]:
    """Segments in the order of their ids, as hex, with the scores that choose between them.

    A text is cut into the pieces whose scores have the largest sum (Kudo 2018); among the pieces
    are all single bytes.
    """
    vocabulary = json.loads(tokenizer.library.to_str())["model"]["vocab"]
    scores = [score for _, score in vocabulary]
    return {
        "format": FORMAT,
        "tokenizer_sha256": tokenizer_sha256,
        "bos_id": BOS,
        "first_segment_id": BOS + 1,
        "segments_hex": [piece.hex() for piece in tokenizer.pieces[BOS + 1 :]],
        "byte_scores_nats": scores[:BYTES],
        "segment_scores_nats": scores[BOS + 1 :],
    }


def is_original(path: Path) -> bool:
    """Whether a file is as long as the header of an original file says."""
    with path.open("rb") as file:
        header = file.read(original.HEADER.size)
    if len(header) < original.HEADER.size:
        return False
    _, parameters = original.HEADER.unpack(header)
    return parameters > 0 and path.stat().st_size == original.size_bytes(parameters)


def are_segments(path: Path) -> bool:
    """Whether a file is what `write` puts beside an original file."""
    try:
        return path.is_file() and read_object(path).get("format") == FORMAT
    except UserError:
        return False
