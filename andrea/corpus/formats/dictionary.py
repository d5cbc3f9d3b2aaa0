"""Tables of words and their definitions, as questions and answers.

Every word becomes `> define X`, newline, `< X is a noun: ...`; further senses follow as "It can
also mean: ...", the shape of the source `dictionary`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from andrea.common.errors import UserError
from andrea.corpus import turns
from andrea.corpus.formats import dictd, opened, plain
from andrea.corpus.formats.records import RecordError
from andrea.corpus.turns import Turn

ENDINGS = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".index")
WHOLE_CHARACTERS = 1 << 26
LONGEST_FIELD = 1 << 24  # characters; the library's own limit is 2^17

WORDS = ("word", "term", "headword", "lemma", "entry", "title")
DEFINITIONS = (
    "definition", "definitions", "meaning", "meanings", "gloss", "glosses", "sense", "senses",
    "description", "explanation",
)  # fmt: skip
PARTS = ("pos", "part_of_speech", "wordtype", "word_class")
EXAMPLES = ("example", "examples")
PART_NAMES = {
    "n": "noun", "v": "verb", "vt": "verb", "vi": "verb", "a": "adjective", "adj": "adjective",
    "s": "adjective", "r": "adverb", "adv": "adverb", "prep": "preposition", "conj": "conjunction",
    "pron": "pronoun", "interj": "interjection", "num": "numeral",
}  # fmt: skip

_LEADING = re.compile(r"(v\. ?[ti]|n|v|adj|adv|prep|conj|pron|interj)\.\s+(?=\S)")


class Sense(NamedTuple):
    """One meaning of a word; parts that are not known are empty."""

    definition: str
    part: str = ""
    example: str = ""


Entry = tuple[str, list[Sense]]


def documents(path: Path) -> Iterator[str]:
    """Yield a document for every word; rows of one word that follow each other are its senses.

    A file is a table (`.csv`, `.tsv`, `.tab`; with names of columns, or else two columns), JSON
    (`{"word": "definition"}` or a list of records; at most 67 million characters), JSON Lines of
    records, and dictd's `.index` beside its `.dict` or `.dict.dz`. A definition may be a list of
    strings or of records. A word without a definition is passed over.

    Raises:
        UserError: the file cannot be read, or a row has no such shape; file and line are named.
    """
    for word, entries in groupby(_entries(path), key=lambda entry: entry[0]):
        senses = [sense for _, senses in entries for sense in senses if sense.definition]
        if word and senses:
            yield _document(word, senses)


def is_like(path: Path) -> bool:
    """Whether a file is shaped or named as a dictionary."""
    name = plain.name(path)
    head = plain.head(path).decode("utf-8-sig", errors="replace").lstrip()
    line = head.split("\n", 1)[0].rstrip("\r")
    if name.endswith(".index"):
        return bool(dictd.LINE.fullmatch(line))
    if name.endswith((".csv", ".tsv", ".tab")):
        return _names_both(next(csv.reader([line], delimiter=_delimiter(line)), []))
    record = head.split("}", 1)[0]
    keys = re.findall(r'"([^"\\]+)"\s*:', record)
    is_map = name.endswith(".json") and bool(re.match(r'\{\s*"[^"\\]+"\s*:\s*"', record))
    return _names_both(keys) or (is_map and not {"text", "messages", "conversations"} & set(keys))


def _document(word: str, senses: list[Sense]) -> str:
    reply = f"{word} is {_kind(senses[0].part)}: {_sentences(senses[0])}"
    for before, sense in pairwise(senses):
        differs = sense.part and sense.part != before.part
        reply += f" It can also {f'be {_kind(sense.part)}' if differs else 'mean'}:"
        reply += f" {_sentences(sense)}"
    return turns.render([Turn("prompt", f"define {word}"), Turn("reply", reply)])


def _kind(part: str) -> str:
    return f"{'an' if part[0] in 'aeiou' else 'a'} {part}" if part else "defined as"


def _sentences(sense: Sense) -> str:
    example = f" For example: {_ended(sense.example)}" if sense.example else ""
    return _ended(sense.definition) + example


def _ended(text: str) -> str:
    return text if text.rstrip("\"')”’").endswith((".", "!", "?")) else text + "."


def _entries(path: Path) -> Iterator[Entry]:
    name = plain.name(path)
    if name.endswith(".index"):
        return ((word, [_sense(definition, Sense(""))]) for word, definition in dictd.entries(path))
    if name.endswith(".json"):
        return _placed(path, "entry", enumerate(_json(path), start=1))
    rows = _json_lines(path) if name.endswith((".jsonl", ".ndjson")) else _table(path)
    return _placed(path, "line", rows)


def _placed(path: Path, unit: str, rows: Iterable[tuple[int, Any]]) -> Iterator[Entry]:
    for number, record in rows:
        try:
            yield _entry(record)
        except RecordError as error:
            raise UserError(f"{path}, {unit} {number}: {error}") from error


def _table(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Numbers of lines, and records by the names of columns in the first line."""
    csv.field_size_limit(LONGEST_FIELD)
    lines = plain.utf8_lines(path)
    first = next(lines, "")
    rows = csv.reader(chain([first], lines), delimiter=_delimiter(first), strict=True)
    try:
        header = next(rows, [])
        named = _names_both(header)
        if not named and len(header) != 2:
            raise UserError(
                f"{path}, line 1: columns {', '.join(header)[:80]!r}; two columns, or columns named"
                f" {WORDS[0]} and {DEFINITIONS[0]} among others, are needed"
            )
        names = header if named else [WORDS[0], DEFINITIONS[0]]
        for row in rows if named else chain([header], rows):
            if row and len(row) != len(header):
                raise UserError(
                    f"{path}, line {rows.line_num}: {len(row)} columns, line 1 has {len(header)}"
                )
            if row:
                yield rows.line_num, dict(zip(names, row, strict=True))
    except csv.Error as error:
        raise UserError(f"{path}, line {rows.line_num}: cannot be read as CSV ({error})") from error


def _delimiter(line: str) -> str:
    return next((mark for mark in ("\t", ",", ";") if mark in line), ",")


def _json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(plain.utf8_lines(path), start=1):
        if line.strip():
            yield number, _parsed(line, f"{path}, line {number}")


def _json(path: Path) -> list[Any]:
    blocks: list[str] = []
    size = 0
    for block in plain.utf8(path):
        blocks.append(block)
        size += len(block)
        if size > WHOLE_CHARACTERS:
            raise UserError(
                f"{path}: JSON of more than {WHOLE_CHARACTERS:,} characters is not read whole;"
                " JSON Lines have no limit"
            )
    whole = _parsed("".join(blocks), str(path))
    if isinstance(whole, dict) and not _names_both(whole):
        return [{WORDS[0]: word, DEFINITIONS[0]: meaning} for word, meaning in whole.items()]
    return whole if isinstance(whole, list) else [whole]


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place}: {opened.bad_json(error)}") from error


def _entry(record: Any) -> Entry:
    if not isinstance(record, dict):
        raise RecordError(f"{str(record)[:60]!r} is no object with a word and its definition")
    record = {_key(key): value for key, value in reversed(record.items())}
    word = _first_of(record, WORDS)
    if not isinstance(word, str):
        raise RecordError(f"no word; a string named {', '.join(WORDS)} is needed")
    definition = _first_of(record, DEFINITIONS)
    shared = Sense("", _part(record), _example(record))
    try:
        senses = _senses(word, definition, shared)
        "".join([word, *chain.from_iterable(senses)]).encode()
    except UnicodeEncodeError as error:
        raise RecordError("a lone surrogate, which is no Unicode text") from error
    except RecursionError as error:
        raise RecordError(f"the definition of {word[:60]!r} is nested too deep") from error
    return " ".join(word.split()), senses


def _senses(word: str, definition: Any, shared: Sense) -> list[Sense]:
    """The senses of a definition: a string, a record, or a list of these."""
    if definition is None:
        return []
    if isinstance(definition, str):
        return [_sense(definition.strip(), shared)]
    if isinstance(definition, list):
        return [sense for one in definition for sense in _senses(word, one, shared)]
    fields = definition.items() if isinstance(definition, dict) else ()
    record = {_key(key): value for key, value in fields}
    if (inner := _first_of(record, DEFINITIONS)) is not None:
        own = Sense("", _part(record) or shared.part, _example(record) or shared.example)
        return _senses(word, inner, own)
    raise RecordError(
        f"the definition of {word!r} is {type(definition).__name__}; a string, a record with a"
        f" field {DEFINITIONS[0]}, or a list of these is needed"
    )


def _sense(definition: str, shared: Sense) -> Sense:
    """A sense whose definition may begin with its part of speech, such as `n. `."""
    match = None if shared.part else _LEADING.match(definition)
    if match is None:
        return shared._replace(definition=definition)
    part = PART_NAMES[re.sub(r"[. ]", "", match[1])]
    return shared._replace(definition=definition[match.end() :], part=part)


def _first_of(record: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((record[name] for name in names if name in record), None)


def _part(record: Mapping[str, Any]) -> str:
    given = _first_of(record, PARTS)
    text = given.strip().rstrip(".").lower() if isinstance(given, str) else ""
    return PART_NAMES.get(text, text)


def _example(record: Mapping[str, Any]) -> str:
    given = _first_of(record, EXAMPLES)
    first = next(iter(given), "") if isinstance(given, list) else given
    return first.strip() if isinstance(first, str) else ""


def _names_both(names: Iterable[str]) -> bool:
    keys = {_key(name) for name in names}
    return bool(keys & set(WORDS)) and bool(keys & set(DEFINITIONS))


@lru_cache(maxsize=1024)
def _key(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


FORMAT = plain.Format(documents, ENDINGS, is_like, beside=(".dict", ".dict.dz"))
