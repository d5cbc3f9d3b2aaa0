"""The Hessian's products and the end of its spectrum, against matrices that are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor
from torch.nn.utils import parameters_to_vector

from andrea.geometry.terrain.measure.hessian import (
    gradient,
    hessian_times,
    parts_on,
    top_eigenvalue,
)
from andrea.geometry.terrain.measure.surface import loss_on
from andrea.model.gpt import GPT
from tests.geometry.toys import Quadratic, batch, bits, network, numbers, symmetric


def shaped(flat: Tensor, model: torch.nn.Module) -> list[Tensor]:
    sizes = [weights.numel() for weights in model.parameters()]
    pieces = torch.split(flat, sizes)
    return [one.view_as(w) for one, w in zip(pieces, model.parameters(), strict=True)]


@given(st.integers(0, 10_000), st.lists(st.floats(-5, 5), min_size=8, max_size=8))
@settings(max_examples=40, deadline=None)
def test_lanczos_finds_the_ends_of_a_known_spectrum(seed: int, spectrum: list[float]) -> None:
    model = Quadratic(symmetric(torch.tensor(spectrum), seed), numbers(8, 2))
    true = torch.linalg.eigvalsh(model.hessian)
    found = top_eigenvalue(model, model.parts, seed, 8, 1e-9)
    scale = float(true.abs().max()) + 1e-6
    assert found.largest == pytest.approx(float(true[-1]), abs=1e-3 * scale)
    assert found.smallest == pytest.approx(float(true[0]), abs=1e-3 * scale)
    assert found.products <= 8


@pytest.mark.parametrize("products", [1, 2, 4])
def test_an_early_end_says_how_far_off_it_may_be(products: int) -> None:
    model = Quadratic(symmetric(torch.arange(1.0, 41.0), 4), numbers(40, 2))
    true = torch.linalg.eigvalsh(model.hessian).numpy()
    found = top_eigenvalue(model, model.parts, 0, products, 0.0)
    assert found.products == products
    assert found.largest <= true[-1] + 1e-6
    assert np.abs(true - found.largest).min() <= found.error + 1e-9


def test_a_tolerance_ends_it_early() -> None:
    spectrum = torch.cat([torch.tensor([100.0]), torch.linspace(0, 1, 39)])
    model = Quadratic(symmetric(spectrum, 4), numbers(40, 2))
    found = top_eigenvalue(model, model.parts, 0, 40, 0.01)
    assert found.products < 8
    assert found.error <= 0.01 * found.largest
    assert found.largest == pytest.approx(100, rel=0.01)


def test_lost_orthogonality_leaves_the_largest_right() -> None:
    """Four times as many products as there are weights."""
    model = Quadratic(symmetric(torch.logspace(-3, 3, 20), 4), numbers(20, 2))
    found = top_eigenvalue(model, model.parts, 0, 80, 0.0)
    assert found.largest == pytest.approx(1000, rel=1e-6)


def test_a_flat_terrain_has_no_curvature() -> None:
    model = Quadratic(torch.zeros(8, 8), numbers(8, 2))
    found = top_eigenvalue(model, model.parts, 0, 8, 0.01)
    assert (found.largest, found.error, found.products) == (0, 0, 1)


@pytest.fixture
def double() -> GPT:
    return network().double()


def test_the_gradient_is_that_of_training() -> None:
    model, (inputs, targets) = network(), batch()
    found = gradient(model, parts_on(model, inputs, targets, 2))
    assert all(weights.grad is None for weights in model.parameters())
    model.mean_nats(inputs, targets)[0].backward()  # type: ignore[no-untyped-call]
    for weights, slope in zip(model.parameters(), found, strict=True):
        torch.testing.assert_close(slope, weights.grad, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("rows", [1, 2, 8])
def test_products_are_differences_of_gradients(double: GPT, rows: int) -> None:
    inputs, targets = batch()
    parts = parts_on(double, inputs, targets, rows)
    origin = parameters_to_vector(double.parameters()).detach().clone()
    vector = numbers(len(origin), 6)
    slopes = []
    for side in (1e-6, -1e-6):
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(origin + side * vector, double.parameters())
        slopes.append(torch.cat([one.flatten() for one in gradient(double, parts)]))
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(origin, double.parameters())
    product = torch.cat(
        [one.flatten() for one in hessian_times(double, parts, shaped(vector, double))]
    )
    torch.testing.assert_close(product, (slopes[0] - slopes[1]) / 2e-6, rtol=1e-4, atol=1e-6)


def test_a_networks_largest_eigenvalue_is_that_of_another_solver(double: GPT) -> None:
    parts = parts_on(double, *batch(), rows=3)
    size = sum(weights.numel() for weights in double.parameters())

    def times(vector: np.ndarray) -> np.ndarray:
        product = hessian_times(double, parts, shaped(torch.from_numpy(vector.ravel()), double))
        return torch.cat([one.flatten() for one in product]).numpy()

    operator = LinearOperator((size, size), matvec=times, dtype=np.float64)
    rng = np.random.default_rng(0)
    (true,) = eigsh(operator, 1, which="LA", v0=rng.normal(size=size), return_eigenvectors=False)
    found = top_eigenvalue(double, parts, 1, 60, 1e-6)
    assert found.products < 60
    assert found.largest == pytest.approx(true, rel=1e-5)


def test_nothing_of_the_network_changes_and_equal_inputs_give_equal_numbers() -> None:
    model, (inputs, targets) = network(), batch()
    before, height = bits(model), loss_on(model, inputs, targets, 3)()
    first, second = (
        top_eigenvalue(model, parts_on(model, inputs, targets, 2), 1, 5, 0.0) for _ in range(2)
    )
    assert first == second
    assert bits(model) == before
    assert loss_on(model, inputs, targets, 3)() == height
    assert all(weights.grad is None for weights in model.parameters())
