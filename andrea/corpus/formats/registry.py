"""The formats: a new one is a file beside this one, a line here, and its word in the parameters.

`andrea.config.text` lists the words, for parameters are read where no reader is needed.
"""

from __future__ import annotations

from collections.abc import Mapping

from andrea.corpus.formats import chat, dictionary, folders, gutenberg, irc, records, repository
from andrea.corpus.formats.plain import Format
from andrea.corpus.formats.records import RecordFormat

# In the order in which they are tried: the narrower shapes first, for each is also plain text, and
# a sign is asked of a single file whatever its ending.
FORMATS: Mapping[str, Format | RecordFormat] = {
    "jsonl": records.JSONL,
    "parquet": records.PARQUET,
    "arrow": records.ARROW,
    "chat": chat.FORMAT,
    "dictionary": dictionary.FORMAT,
    "gutenberg": gutenberg.FORMAT,
    "irc": irc.FORMAT,
    "text": folders.FORMAT,
    "git-docs": repository.DOCS,
    "git-docstrings": repository.DOCSTRINGS,
    "git-commits": repository.COMMITS,
}
