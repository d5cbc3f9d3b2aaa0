from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from andrea.geometry.vectors.measure import embeddings
from andrea.geometry.vectors.measure.embeddings import Method

GOLDEN = json.loads((Path(__file__).parents[1] / "golden.json").read_text(encoding="utf-8"))
EXERCISE = GOLDEN["embedding_distance"]

small = st.integers(-4, 4).map(float)
clouds = st.tuples(st.integers(2, 9), st.integers(2, 5)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=small)
)


@pytest.mark.parametrize("names", EXERCISE["euclidean"])
def test_golden_vectors(names: str) -> None:
    one, other = (np.array(EXERCISE["vectors"][name]) for name in names.split("-"))
    found = embeddings.separation(one, other)
    assert found.euclidean == pytest.approx(EXERCISE["euclidean"][names], rel=1e-14)
    assert found.cosine == pytest.approx(EXERCISE["cosine"][names], rel=1e-14)
    assert embeddings.separation(other, one) == found


def test_golden_neighbours() -> None:
    """The monkey is the parakeet's neighbour and the parakeet the monkey's."""
    names = list(EXERCISE["vectors"])
    vectors = np.array([EXERCISE["vectors"][name] for name in names])
    found = embeddings.neighbours(vectors, np.arange(3), 1)
    nearest = [names[i] for i in found.ids[:, 0]]
    assert dict(zip(names, nearest, strict=True)) == {
        "parakeet": "monkey",
        "monkey": "parakeet",
        "Fourier": "monkey",
    }


def test_a_zero_vector_has_no_direction() -> None:
    found = embeddings.separation(np.zeros(3), np.array([3.0, 4.0, 0.0]))
    assert (found.euclidean, found.cosine) == (5.0, 0.0)


def test_a_word_is_the_mean_of_its_rows_with_a_space_before_it() -> None:
    def encode(texts: Sequence[str]) -> list[np.ndarray]:
        return [np.frombuffer(text.encode(), np.uint8).astype(np.uint16) for text in texts]

    table = np.random.default_rng(1).standard_normal((256, 5)).astype(np.float32)
    words = ["to", "seal", "a"]
    spelled = embeddings.spell(words, encode)
    assert [bytes(ids.tolist()) for ids in spelled] == [b" to", b" seal", b" a"]
    found = embeddings.word_vectors(table, spelled)
    for vector, word in zip(found, words, strict=True):
        rows = [table[byte].astype(float) for byte in f" {word}".encode()]
        np.testing.assert_allclose(vector, sum(rows) / len(rows), rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(clouds, st.integers(1, 10))
def test_neighbours_are_those_of_a_sorted_list(vectors: np.ndarray, count: int) -> None:
    found = embeddings.neighbours(vectors, np.arange(len(vectors)), count)
    assert found.ids.shape == (len(vectors), min(count, len(vectors) - 1))
    for query, (ids, cosines, lengths) in enumerate(
        zip(found.ids, found.cosine, found.euclidean, strict=True)
    ):
        apart = {
            i: embeddings.separation(vectors[query], vectors[i])
            for i in range(len(vectors))
            if i != query
        }
        best = sorted((one.cosine for one in apart.values()), reverse=True)[: len(ids)]
        np.testing.assert_allclose(cosines, best, atol=1e-12)
        np.testing.assert_allclose([apart[i].cosine for i in ids.tolist()], best, atol=1e-12)
        np.testing.assert_allclose(lengths, [apart[i].euclidean for i in ids.tolist()], atol=1e-12)
        assert len(set(ids.tolist())) == len(ids)


def test_equal_neighbours_go_by_row() -> None:
    vectors = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    assert embeddings.neighbours(vectors, np.array([2, 0]), 3).ids.tolist() == [
        [1, 3, 0],
        [1, 2, 3],
    ]


@settings(max_examples=20, deadline=None)
@given(clouds)
def test_principal_components_are_those_of_a_singular_value_decomposition(
    vectors: np.ndarray,
) -> None:
    variances, axes = embeddings.principal(vectors)
    values = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False)
    expected = np.zeros(vectors.shape[1])
    expected[: len(values)] = values**2 / len(vectors)
    np.testing.assert_allclose(variances, expected, atol=1e-10)
    np.testing.assert_allclose(axes.T @ axes, np.eye(len(axes)), atol=1e-10)
    np.testing.assert_allclose(np.cov(vectors.T, bias=True) @ axes, axes * variances, atol=1e-10)
    assert (axes.max(axis=0) >= -axes.min(axis=0)).all()


def test_a_flat_cloud_is_mapped_without_loss() -> None:
    """Directions in a plane of R^6: the map keeps every distance."""
    rng = np.random.default_rng(2)
    plane = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    angles = rng.uniform(0, 2 * np.pi, 30)
    lengths = rng.uniform(1, 9, (30, 1))
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = embeddings.draw_map(lengths * circle @ plane.T, "pca", 0)
    assert sum(found.shares) == pytest.approx(1.0)
    assert found.shares[0] >= found.shares[1]

    def distances(places: np.ndarray) -> np.ndarray:
        return np.linalg.norm(places[:, None] - places, axis=-1)

    np.testing.assert_allclose(distances(found.places), distances(circle), atol=1e-12)


def test_a_cloud_of_one_direction_is_one_place() -> None:
    found = embeddings.draw_map(np.array([[1.0, 2.0], [2.0, 4.0]]), "pca", 0)
    np.testing.assert_allclose(found.places, 0, atol=1e-12)


@pytest.mark.parametrize("method", ["pca", pytest.param("tsne", marks=pytest.mark.slow)])
def test_a_map_keeps_groups_apart_and_is_the_same_each_time(method: Method) -> None:
    rng = np.random.default_rng(3)
    centres = 8 * np.eye(12)[:3]
    group = np.repeat(np.arange(3), 12)
    vectors = centres[group] + rng.standard_normal((36, 12))
    found = embeddings.draw_map(vectors, method, 5)
    again = embeddings.draw_map(vectors.copy(), method, 5)
    assert found.places.tobytes() == again.places.tobytes()
    assert len(found.shares) == (2 if method == "pca" else 0)
    apart = np.linalg.norm(found.places[:, None] - found.places, axis=-1)
    np.fill_diagonal(apart, np.inf)
    assert (group[apart.argmin(axis=1)] == group).all()
