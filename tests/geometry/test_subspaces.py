from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.linalg import subspace_angles

from andrea.geometry.heads.measure.subspaces import (
    PROJECTIONS,
    angles,
    bases,
    compare,
    random_deviation,
)
from andrea.model.gpt import GPT
from tests.networks import SCALE, network

WIDTH, HEADS, LAYERS = SCALE.d_model, SCALE.n_heads, SCALE.n_layers
K = WIDTH // HEADS
N = LAYERS * HEADS


def matrix(model: GPT, projection: int, layer: int, head: int) -> torch.Tensor:
    """The k rows of one head, to read and to write."""
    start = projection * WIDTH + head * K
    return model.blocks[layer].qkv.detach()[start : start + K]


def test_angles_are_those_of_scipy() -> None:
    model = network()
    found = compare(model, (7,))
    for projection in range(len(PROJECTIONS)):
        for one in range(N):
            for other in range(N):
                pair = [
                    matrix(model, projection, *divmod(head, HEADS)).double().numpy().T
                    for head in (one, other)
                ]
                expected = np.sort(subspace_angles(*pair))
                square = found.squared_cosine[projection, one, other]
                assert square == pytest.approx(np.mean(np.cos(expected) ** 2))
                if one // HEADS == other // HEADS and one != other:
                    place = (projection, one // HEADS, one % HEADS, other % HEADS)
                    np.testing.assert_allclose(
                        found.angles_degrees[place], np.degrees(expected), atol=1e-6
                    )


@pytest.mark.parametrize(("one", "other", "width"), [(8, 8, 32), (3, 10, 24), (12, 12, 36)])
def test_the_baseline_of_random_subspaces(one: int, other: int, width: int) -> None:
    """Mean and deviation of the summed squared cosines, against drawn subspaces."""
    pairs, rng = 800, np.random.default_rng(5)
    first, _ = bases(rng.standard_normal((pairs, one, width)))
    second, _ = bases(rng.standard_normal((pairs, other, width)))
    sums = np.square(first @ second.swapaxes(1, 2)).sum((1, 2))
    deviation = random_deviation(np.array(one), np.array(other), width)
    assert sums.mean() == pytest.approx(one * other / width, abs=4 * deviation / pairs**0.5)
    assert sums.std(ddof=1) == pytest.approx(deviation, rel=0.1)


def test_heads_of_drawn_weights_lie_as_random_subspaces_do() -> None:
    found = compare(network(), (7,))
    assert (found.rank == K).all()
    assert (found.expected == K / WIDTH).all()
    above, below = np.triu_indices(N, 1)
    off = (found.squared_cosine - found.expected) / found.deviation
    off = off[:, above, below]
    assert np.abs(off).max() < 5
    assert np.abs(off.mean()) < 4 / off.size**0.5
    random = found.random_angles_degrees
    assert (np.diff(random) > 0).all()
    drawn = found.angles_degrees[:, :, *np.triu_indices(HEADS, 1)].mean((0, 1, 2))
    np.testing.assert_allclose(drawn, random, atol=6)


def test_equal_heads_have_no_angle_and_heads_apart_90_degrees() -> None:
    model = network()
    eye = torch.eye(WIDTH)
    for head in range(HEADS):
        matrix(model, 1, 0, head).copy_(3 * eye[head * K : (head + 1) * K])
    matrix(model, 1, 1, 2).copy_(matrix(model, 1, 0, 3).flip(0))
    found = compare(model, (7,))
    np.testing.assert_allclose(found.squared_cosine[1, :HEADS, :HEADS], np.eye(HEADS), atol=1e-12)
    assert found.squared_cosine[1, HEADS + 2, 3] == pytest.approx(1)
    np.testing.assert_allclose(found.angles_degrees[1, 0, 0, 0], 0, atol=1e-5)
    np.testing.assert_allclose(found.angles_degrees[1, 0, 0, 1], 90, atol=1e-5)


def test_only_the_subspace_counts() -> None:
    """Not the basis that a head takes in it, nor how the stream is turned as a whole."""
    model, turned = network(), network()
    rng = np.random.default_rng(2)
    rotation = torch.from_numpy(np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0]).float()
    for projection in range(len(PROJECTIONS)):
        for layer in range(LAYERS):
            for head in range(HEADS):
                rows = matrix(turned, projection, layer, head)
                mixed = torch.from_numpy(rng.standard_normal((K, K))).float()
                rows.copy_(mixed @ rows @ rotation)
    one, other = compare(model, (7,)), compare(turned, (7,))
    np.testing.assert_allclose(one.squared_cosine, other.squared_cosine, atol=1e-4)
    apart = ~np.eye(HEADS, dtype=bool)
    np.testing.assert_allclose(
        one.angles_degrees[:, :, apart], other.angles_degrees[:, :, apart], atol=0.05
    )


def test_a_head_of_smaller_rank_is_compared_in_what_it_has() -> None:
    model = network()
    matrix(model, 0, 0, 1)[3:] = 0
    matrix(model, 0, 0, 2).copy_(
        matrix(model, 0, 0, 1) + torch.eye(K, WIDTH) * (torch.arange(K) > 2)[:, None]
    )
    found = compare(model, (7,))
    assert found.rank[0].tolist() == [K, 3, *[K] * (N - 2)]
    assert found.squared_cosine[0, 1, 2] == pytest.approx(1)
    assert found.squared_cosine[0, 1, 1] == pytest.approx(1)
    assert found.expected[0, 1, 2] == pytest.approx(K / WIDTH)
    assert found.expected[0, 1, 1] == pytest.approx(3 / WIDTH)
    lying = found.angles_degrees[0, 0, 1, 2]
    np.testing.assert_allclose(lying[:3], 0, atol=1e-5)
    assert (lying[3:] == 90).all()


def test_a_single_head_sees_the_whole_stream() -> None:
    found = compare(network(replace(SCALE, n_heads=1, n_layers=1)), (7,))
    np.testing.assert_allclose(found.squared_cosine, 1)
    np.testing.assert_allclose(found.expected, 1)
    np.testing.assert_array_equal(found.deviation, 0)


def test_angles_take_pairs_by_their_axes() -> None:
    rng = np.random.default_rng(1)
    stack, _ = bases(rng.standard_normal((3, 2, 5)))
    all_pairs = angles(stack[:, None], stack[None])
    assert all_pairs.shape == (3, 3, 2)
    np.testing.assert_allclose(all_pairs[0, 2], angles(stack[0], stack[2]))
    np.testing.assert_allclose(all_pairs, all_pairs.swapaxes(0, 1))


def test_random_angles_depend_on_the_key_alone() -> None:
    first, again, other = (
        compare(network(), key).random_angles_degrees for key in [(7,), (7,), (8,)]
    )
    assert first.tobytes() == again.tobytes()
    assert (first != other).any()
