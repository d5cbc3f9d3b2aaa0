from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andrea.watching.original import BAD, Original, original_score, vocabulary

quick = settings(derandomize=True, max_examples=100, deadline=None, database=None)

WORDS = vocabulary(["The old harbour lay quiet; games in the region.", "a morning"])


def test_points_counted_by_hand() -> None:
    found = original_score("the xyzzy the xyzzy the", WORDS)
    assert found == Original(35 * 2 / 4, 35 * 2 / 3, 20 * 3 / 5, 10 * 7 / 30)
    assert math.isclose(found.total, 17.5 + 70 / 3 + 12 + 7 / 3)


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("region region region region region region region", False),
        ("''''' ''''' '' ''' '' ''' '''?' ''' ' '' '' '", False),
        ("games, games, games, games, games, games", False),
        ("Budy Budy Budy Budy Budy Budy Budy Budy Budy", True),
    ],
)
def test_it_sees_one_of_the_four_samples_of_the_collapsed_model(text: str, bad: bool) -> None:
    assert original_score(text, WORDS).bad == bad


def test_varied_text_of_known_words_has_nearly_all_points() -> None:
    text = "the old harbour lay quiet; games in a region, morning"
    assert original_score(text, WORDS).total > 90
    assert 19 < original_score(text, WORDS).total - original_score(text, frozenset()).total <= 20


def test_words_are_known_whatever_stands_around_them() -> None:
    assert original_score("Games, (REGION) quiet... 'the'", WORDS).english == 20
    assert original_score("!!! 1234 ...", WORDS).english == 0


@quick
@given(st.text(st.characters(codec=None), max_size=60))
def test_every_text_has_points_in_range(text: str) -> None:
    found = original_score(text, WORDS)
    assert 0 <= found.total <= 100
    assert found.bad == (found.total < BAD)


@pytest.mark.parametrize("text", ["", " \n "])
def test_nothing_has_no_points(text: str) -> None:
    assert original_score(text, WORDS).total == 0


def test_vocabulary_is_letters_in_lower_case() -> None:
    assert vocabulary(["Don't_stop 42, Éa", "stop"]) == {"don", "t", "stop", "éa"}
