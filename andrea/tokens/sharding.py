"""From the documents of a source to its shard: tokenized and written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from andrea.common import files
from andrea.corpus.documents import MANIFEST, SourceDocuments
from andrea.tokens.encoding import encode_documents
from andrea.tokens.shards import FORMAT, SPLITS
from andrea.tokens.tokenizer import Tokenizer


def write(folder: Path, documents: SourceDocuments, tokenizer_file: Path) -> dict[str, Any]:
    """Tokenize one source into the folder of its name, whole or not at all; give the manifest."""
    tokenizer = Tokenizer.load(tokenizer_file)
    with files.whole_folder(folder) as part:
        splits = {}
        for name in SPLITS:
            written = _write(part / f"{name}.bin", documents.texts(name), tokenizer)
            splits[name] = {**documents.manifest["splits"][name], **written}
        manifest = {
            "format": FORMAT,
            "source": folder.name,
            "vocabulary": tokenizer.vocabulary_size,
            "splits": splits,
            "inputs": {
                "documents": files.sha256(documents.folder / MANIFEST),
                "tokenizer": files.sha256(tokenizer_file),
            },
        }
        files.write_json(part / "manifest.json", manifest)
    return manifest


def _write(path: Path, texts: Iterable[str], tokenizer: Tokenizer) -> dict[str, Any]:
    """Tokens of documents, each after its BOS, and what the manifest says of them."""
    sha256 = hashlib.sha256()
    tokens = 0
    with path.open("wb") as file:
        for ids in encode_documents(texts, tokenizer):
            data = ids.astype("<u2").tobytes()
            file.write(data)
            sha256.update(data)
            tokens += len(ids)
    return {"tokens": tokens, "sha256": sha256.hexdigest()}
