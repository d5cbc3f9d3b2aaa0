"""Pairs of related words, read from a dictionary's own definitions.

Documents are `> define X` and `< X is a noun: ...`, as WordNet's entries become: senses follow one
another after `It can also mean:` or `As a verb it means:`, examples after `For example:`. Which
words are related is the dictionary's word, not ours; the rule below finds it without a parser and
without a list of pairs (Amsler 1980 and Chodorow, Byrd & Heidorn 1985 read taxonomies off
dictionaries that way).

The rule, for the first sense of an entry that is one word, with brackets taken out:

- noun: the phrase up to the first function word; the *genus* is its last word that the dictionary
  lists as a noun. `kind`, `type` and the like name no kind: the phrase after their `of` is taken.
- verb: the genus is the first word after a leading `to`, if the dictionary lists it as a verb;
  `be`, `make` and the like name no kind of act, and give no pair.
- adjective: in the first part between semicolons that is nothing but single words with commas,
  `and` and `or` between them, the first that the dictionary lists as an adjective: a *synonym*.

A definition that yields nothing gives no pair; neither does a word inside the other (`act` of
`counteract`), which spelling alone would bring together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

NOUN, VERB, ADJECTIVE = "noun", "verb", "adjective"

ENTRY = re.compile(r"> define ([a-z]+)\n< \1 is an? (\w+): (.+)", re.DOTALL)
SENSE = re.compile(r"(?:^| )As an? (\w+) it means: | It can also mean: ")
EXAMPLE = re.compile(r" For example: .*", re.DOTALL)
BRACKET = re.compile(r"\([^)]*\)")
WORD = re.compile(r"[a-z]+")

FUNCTION = frozenset(
    "of in on at by for with to from as into about above across after against along among around"
    " before behind below beneath beside between beyond down during inside near off onto outside"
    " over through toward towards under until up upon within without that which who whom whose"
    " where when while than is are was were be been being has have had can may not but if so used"
    " having usually often especially".split()
)
KINDS = frozenset(
    "any one some various several type types kind kinds sort sorts form forms variety varieties"
    " species genus member members".split()
)
NO_ACT = frozenset(
    "be have make cause become get do go come put take give let keep use undergo bring".split()
)


@dataclass(frozen=True)
class Entry:
    """One document of a dictionary."""

    word: str  # that it defines
    part: str  # of speech of its first sense
    parts: frozenset[str]  # of speech of all senses
    definition: str  # the first sense, without examples


@dataclass(frozen=True)
class Pair:
    """A word and one that its definition says is related."""

    word: str  # defined
    relative: str  # taken from its definition
    part: str  # of speech, of both
    kind: Literal["genus", "synonym"]  # `genus` (what it is a kind of) or `synonym`


def entries(documents: Iterable[str]) -> list[Entry]:
    """Entries of one lower-case word, the first of each word, in the order of the documents.

    Documents of another shape are passed over, as a dictionary may hold some.
    """
    found: dict[str, Entry] = {}
    for document in documents:
        match = ENTRY.match(document)
        if match is None:
            continue
        word, part, text = match.groups()
        others = [other for other in SENSE.findall(text) if other]
        first = EXAMPLE.sub("", SENSE.split(text, maxsplit=1)[0])
        found.setdefault(word, Entry(word, part, frozenset([part, *others]), first))
    return list(found.values())


def pairs(entries: Sequence[Entry]) -> list[Pair]:
    """At most one pair per entry, by the rule that the module states, in the order of entries."""
    listed = {entry.word: entry.parts for entry in entries}
    found = []
    for entry in entries:
        text = BRACKET.sub(" ", entry.definition).lower()
        if entry.part == NOUN:
            relative = _noun(text, listed)
        elif entry.part == VERB:
            relative = _verb(text, listed)
        elif entry.part == ADJECTIVE:
            relative = _adjective(text, listed)
        else:
            continue
        if relative and relative not in entry.word and entry.word not in relative:
            kind: Literal["genus", "synonym"] = "synonym" if entry.part == ADJECTIVE else "genus"
            found.append(Pair(entry.word, relative, entry.part, kind))
    return found


def _noun(text: str, listed: Mapping[str, frozenset[str]]) -> str:
    """The last noun of the first phrase that names a kind; empty if there is none."""
    clause = re.split(r"[,;:.]", text, maxsplit=1)[0].split()
    phrase: list[str] = []
    for word in [*clause, "of"]:
        if word not in FUNCTION:
            phrase.append(word)
        elif word == "of" and phrase and phrase[-1] in KINDS:
            phrase = []
        else:
            break
    nouns = [w for w in phrase if w not in KINDS and NOUN in listed.get(w, ())]
    return nouns[-1] if nouns else ""


def _verb(text: str, listed: Mapping[str, frozenset[str]]) -> str:
    words = WORD.findall(text.removeprefix("to "))
    first = words[0] if words else ""
    return first if first not in NO_ACT and VERB in listed.get(first, ()) else ""


def _adjective(text: str, listed: Mapping[str, frozenset[str]]) -> str:
    for clause in re.split(r"[;:.]", text):
        words = [word.strip() for word in re.split(r",| and | or ", clause)]
        if all(WORD.fullmatch(word) for word in words):
            return next((word for word in words if ADJECTIVE in listed.get(word, ())), "")
    return ""
