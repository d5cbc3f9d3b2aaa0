"""The plane of a run's path, and the loss over it."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import fields

import numpy as np
import pytest
import torch

from andrea.geometry.terrain.measure.plane import fit_plane, plane_picture
from tests.geometry.toys import bowl, flat, numbers


def drawn_path(count: int, offset: float = 0.0) -> list[list[torch.Tensor]]:
    """Points of a drawn path with two matrices each."""
    drawn = numbers(count * 8, 9).view(count, 8) * torch.arange(8.0, 0.0, -1.0) + offset
    return [[point[:4].view(2, 2), point[4:].view(2, 2)] for point in drawn]


@pytest.mark.parametrize("count", [3, 5, 12])
def test_the_plane_is_that_of_the_singular_vectors(count: int) -> None:
    points = drawn_path(count)
    table = np.stack([flat(point).numpy() for point in points])
    table = table - table.mean(0)
    _, values, vectors = np.linalg.svd(table, full_matrices=False)
    plane = fit_plane(points)
    axes = np.stack([flat(axis).numpy() for axis in plane.axes])
    np.testing.assert_allclose(np.abs((axes * vectors[:2]).sum(1)), 1, rtol=1e-9)
    np.testing.assert_allclose(plane.path, table @ axes.T, atol=1e-9)
    np.testing.assert_allclose(plane.explained, values[:2] ** 2 / (values**2).sum())
    away = np.linalg.norm(table - plane.path @ axes, axis=1)
    np.testing.assert_allclose(plane.off_plane, away, atol=1e-6)
    assert (plane.path[-1] > 0).all()


class Stored:
    """A point that makes its tensors anew each time it is gone through, and counts those alive."""

    alive = most = 0

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        self.tensors = tensors

    def __iter__(self) -> Iterator[torch.Tensor]:
        for tensor in self.tensors:
            made = tensor.clone()
            Stored.alive += 1
            Stored.most = max(Stored.most, Stored.alive)
            weakref.finalize(made, Stored.forget)
            yield made
            del made

    @staticmethod
    def forget() -> None:
        Stored.alive -= 1


def test_of_points_in_files_one_tensor_is_in_memory_at_a_time() -> None:
    model, points = bowl(), drawn_path(6)
    whole = plane_picture(model, points, model.loss, 3, 0.2)
    stored = plane_picture(model, [Stored(point) for point in points], model.loss, 3, 0.2)
    for field in fields(whole):
        np.testing.assert_array_equal(getattr(stored, field.name), getattr(whole, field.name))
    assert Stored.alive == 0
    assert Stored.most <= 2 * len(points)  # the one that is used, and the next one


def test_three_checkpoints_lie_in_their_plane() -> None:
    plane = fit_plane(drawn_path(3))
    np.testing.assert_allclose(plane.off_plane, 0, atol=1e-6)
    assert plane.explained.sum() == pytest.approx(1)


def test_small_steps_far_from_the_origin_keep_their_shape() -> None:
    near, far = fit_plane(drawn_path(5)), fit_plane(drawn_path(5, offset=1e6))
    np.testing.assert_allclose(far.path, near.path, atol=1e-6)


@pytest.mark.parametrize("places", [[0.0, 1.0], [0.0, 1.0, 3.0], [2.0, 2.0, 2.0]])
def test_points_on_a_line_span_no_plane(places: list[float]) -> None:
    origin = drawn_path(1)[0]
    with pytest.raises(ValueError, match="span no plane"):
        fit_plane([[one + place for one in origin] for place in places])


def test_the_picture_of_a_quadratic_is_the_quadratic() -> None:
    model, points = bowl(), drawn_path(4)
    plane = fit_plane(points)
    picture = plane_picture(model, points, model.loss, 5, 0.25)
    centre, right, up = flat(plane.centre), flat(plane.axes[0]), flat(plane.axes[1])
    for row, column in [(0, 0), (1, 3), (4, 2)]:
        place = centre + picture.x[column] * right + picture.y[row] * up
        assert picture.nats[row, column] == pytest.approx(model.at(place))
    np.testing.assert_allclose(picture.path_nats, [model.at(flat(point)) for point in points])
    shadows = [model.at(centre + x * right + y * up) for x, y in picture.path]
    np.testing.assert_allclose(picture.shadow_nats, shadows)
    for axis, grid in enumerate((picture.x, picture.y)):
        low, high = picture.path[:, axis].min(), picture.path[:, axis].max()
        assert grid[0] == pytest.approx(low - 0.25 * (high - low))
        assert grid[-1] == pytest.approx(high + 0.25 * (high - low))
