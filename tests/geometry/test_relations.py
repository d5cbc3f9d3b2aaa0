from __future__ import annotations

from pathlib import Path

import pytest

from andrea.corpus.formats import documents
from andrea.geometry.vectors.measure import relations
from andrea.geometry.vectors.measure.relations import Entry, Pair

DICTIONARY = Path(__file__).parents[2] / "data/raw/dictionary/train.jsonl.gz"

# Words that the small dictionary below lists, by part of speech.
LISTED = {
    "noun": "bird person instrument rubber loss bark mass".split(),
    "verb": "sleep gather tear make".split(),
    "adjective": "vague numb surly red".split(),
}


def entry(word: str, part: str, definition: str) -> Entry:
    return Entry(word, part, frozenset([part]), definition)


def relative(word: str, part: str, definition: str) -> str | None:
    listed = [entry(w, p, "?") for p, words in LISTED.items() for w in words]
    found = relations.pairs([entry(word, part, definition), *listed])
    assert all((pair.word, pair.part) == (word, part) for pair in found)
    return found[0].relative if found else None


def test_an_entry_is_its_first_sense_and_all_its_parts() -> None:
    documents = [
        "> define sponge\n< sponge is a noun: a porous mass. For example: a sponge. It dries."
        " It can also mean: a person. As a verb it means: wipe. As an adjective it means: soft.",
        "> define hack up\n< hack up is a verb: two words.",
        "> define foo\n< foo is a noun of hacker jargon: a name.",
        "plain text",
        "> define sponge\n< sponge is a verb: the second is passed over.",
        "> define able\n< cane is a noun: another word.",
        "> define able\n< able is an adjective: having power; fit.\n",
    ]
    assert relations.entries(documents) == [
        Entry("sponge", "noun", frozenset(["noun", "verb", "adjective"]), "a porous mass."),
        Entry("able", "adjective", frozenset(["adjective"]), "having power; fit.\n"),
    ]


@pytest.mark.parametrize(
    ("word", "part", "definition", "expected"),
    [
        ("woodpecker", "noun", "bird with strong claws and a stiff tail.", "bird"),
        ("grocer", "noun", "a retail person who sells an instrument.", "person"),
        ("oboe", "noun", "an instrument (of bark) used by a person.", "instrument"),
        ("eagle", "noun", "any of various types of red bird of a person", "bird"),
        ("tangle", "noun", "a twisted and tangled mass that is a person.", "mass"),
        ("pine", "noun", "a bark resembling rubber", "rubber"),
        ("gloom", "noun", "in the loss.", None),
        ("gone", "noun", "a way of loss", None),
        ("songbird", "noun", "a small bird", None),
        ("bird", "noun", "any kind of bird", None),
        ("doze", "verb", "sleep lightly, make or tear.", "sleep"),
        ("muster", "verb", "to gather together", "gather"),
        ("build", "verb", "make or gather.", None),
        ("fly", "verb", "bird like.", None),
        ("hazy", "adjective", "vague.", "vague"),
        ("gruff", "adjective", "harsh, surly and forbidding.", "surly"),
        ("dead", "adjective", "devoid of feeling; numb or vague", "numb"),
        ("pink", "adjective", "red in parts; a bird", None),
        ("redder", "adjective", "red", None),
        ("soon", "adverb", "vague", None),
    ],
)
def test_the_rule(word: str, part: str, definition: str, expected: str | None) -> None:
    assert relative(word, part, definition) == expected


def test_only_adjectives_have_synonyms() -> None:
    found = relations.pairs(
        [
            entry("hazy", "adjective", "vague."),
            entry("vague", "adjective", "not clear at all."),
            entry("eagle", "noun", "a large bird."),
            entry("bird", "noun", "it flies."),
        ]
    )
    assert found == [
        Pair("hazy", "vague", "adjective", "synonym"),
        Pair("eagle", "bird", "noun", "genus"),
    ]


def test_the_dictionary_that_comes_along_holds_thousands_of_pairs() -> None:
    found = relations.entries(documents.read(DICTIONARY))
    listed = {entry.word: entry for entry in found}
    pairs = relations.pairs(found)
    assert len(listed) == len(found) > 10_000
    assert len({pair.word for pair in pairs}) == len(pairs) > 4_000
    for pair in pairs:
        assert pair.part == listed[pair.word].part and pair.part in listed[pair.relative].parts
        assert pair.relative in listed[pair.word].definition.lower()
