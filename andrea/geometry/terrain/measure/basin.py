"""How wide the basin is in which a checkpoint lies: three measures, and a comparison of two runs.

All take the network at a checkpoint and read its loss on one fixed batch, in fp32; they leave the
weights as they were, bit for bit. Random directions and noise depend on the seed and on their
number alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from andrea.common.seeds import Purpose
from andrea.geometry.terrain.measure.crossing import SMALLEST_DISTANCE, crossing
from andrea.geometry.terrain.measure.hessian import Parts, gradient
from andrea.geometry.terrain.measure.surface import (
    Floats,
    Loss,
    Weights,
    gaussians,
    move,
    probing,
    random_direction,
)

RISES_NATS = (0.1, 0.5)
FIRST_DISTANCE = 0.125  # where a search begins

CONFIDENCE = 0.95

CAVEATS = (
    "Width is not a property of what a network computes: weights can be rescaled so that the same"
    " function looks sharp or flat (Dinh et al. 2017). Measures relative to the weights undo the"
    " simplest such rescalings, not all; the eigenvalue of the Hessian undoes none.",
    "Width and generalisation are but weakly correlated, and not always in the direction one hopes"
    " for (Andriushchenko et al. 2023). A wider basin is not a better model: look at the held-out"
    " loss.",
    "Only networks of the same shape compare, on the same batch, at the final step of equally long"
    " runs. A falling learning rate alone changes the width, so before and after polish is no"
    " comparison: the control is a run without polish that ends at the same step.",
    "The interval covers the draw of random directions, and nothing of what another seed, other"
    " training data or another evaluation batch would give: the true uncertainty is larger.",
)


@dataclass(frozen=True, eq=False)
class Radii:
    """How far one can walk from a checkpoint in random directions before the loss has risen.

    A radius of 0.2 says that every row of every matrix may change by a fifth of its length in a
    random direction; larger is wider.
    """

    seed: int  # of the directions
    rises_nats: tuple[float, ...]  # per token, ascending, (levels,)
    # Shares of every row's length, (directions, levels); `LARGEST_DISTANCE` stands for "nowhere
    # nearer".
    radii: Floats
    quartiles: Floats  # 25 %, 50 % and 75 % of the directions, (3, levels)


def radii(
    model: nn.Module,
    loss: Loss,
    seed: int,
    directions: int,
    rises_nats: tuple[float, ...] = RISES_NATS,
) -> Radii:
    """Basin radius along filter-normalised random directions (Li et al. 2018).

    Args:
        directions: how many, at least 16 for a result that is to be believed.
        rises_nats: ascending, above 0.
    """
    distances = np.empty((directions, len(rises_nats)))
    with probing(model) as origin:
        bottom = loss()
        for number in range(directions):
            direction = random_direction(origin, seed, number)

            def rise(distance: float, direction: Weights = direction) -> float:
                move(model, origin, direction, distance)
                return loss() - bottom

            first = FIRST_DISTANCE
            for place, level in enumerate(rises_nats):
                if place:  # as if the loss were quadratic
                    guess = distances[number, place - 1] * (level / rises_nats[place - 1]) ** 0.5
                    first = max(guess, SMALLEST_DISTANCE)
                distances[number, place] = crossing(rise, level, first)
    quartiles: Floats = np.quantile(distances, [0.25, 0.5, 0.75], axis=0)
    return Radii(seed, rises_nats, distances, quartiles)


@dataclass(frozen=True, eq=False)
class Sigma:
    """The noise that a checkpoint bears; larger is wider."""

    sigma: float  # standard deviation of the noise as a share of each weight's size
    rises_nats: Floats  # of the loss at `sigma`, one per draw, (draws,)


def pac_bayes_sigma(
    model: nn.Module, loss: Loss, seed: int, draws: int, rise_nats: float = RISES_NATS[0]
) -> Sigma:
    """The largest noise under which the loss rises by no more than `rise_nats` on the mean.

    Each weight w becomes w (1 + sigma n), n standard normal: the magnitude-aware PAC-Bayes measure
    of Jiang et al. 2020. The draws are fixed, so the mean is a function of sigma.
    """
    with probing(model) as origin:
        bottom = loss()

        def rises(sigma: float) -> Floats:
            sigmas = np.empty(draws)
            for number in range(draws):
                normals = gaussians(origin, [seed, Purpose.WEIGHT_NOISE, number])
                noise = [n * weights for n, weights in zip(normals, origin, strict=True)]
                move(model, origin, noise, sigma)
                sigmas[number] = loss() - bottom
            return sigmas

        sigma = crossing(lambda sigma: float(rises(sigma).mean()), rise_nats, FIRST_DISTANCE)
        return Sigma(sigma, rises(sigma))


def adaptive_sharpness(
    model: nn.Module, loss: Loss, parts: Parts, radii: tuple[float, ...]
) -> Floats:
    """How much the loss rises in the worst direction (ASAM's ascent step, Kwon et al. 2021).

    The step e has length rho when each weight is measured in its own size, |e / w| = rho, and goes
    where the loss rises fastest by that measure: e = rho w^2 g / |w g|, with the gradient g.
    One step is a lower bound of the maximum. Smaller is wider.

    Args:
        parts: of the same loss, differentiable.
        radii: rho; over P weights, rho / sqrt(P) is the root mean square of the relative changes.

    Returns:
        Rise at each radius in nats per token; all 0 where the gradient is.
    """
    slopes = gradient(model, parts)
    with probing(model) as origin, torch.no_grad():
        scaled = [weights * slope for weights, slope in zip(origin, slopes, strict=True)]
        length = sum(float(one.square().sum()) for one in scaled) ** 0.5
        if length == 0:
            return np.zeros(len(radii))
        step = [weights * one / length for weights, one in zip(origin, scaled, strict=True)]
        bottom = loss()
        rises = np.empty(len(radii))
        for place, rho in enumerate(radii):
            move(model, origin, step, rho)
            rises[place] = loss() - bottom
    return rises


@dataclass(frozen=True)
class Comparison:
    """Did polish move the model to a wider basin? For one rise of the loss."""

    rise_nats: float  # per token
    with_polish: float  # median radius
    without_polish: float  # median radius of the control
    difference: float  # of the medians, with minus without
    low: float  # lower end of the interval of the difference
    high: float  # its upper end
    answer: str  # "wider" or "narrower" where the interval is on one side of 0, else "undecided"


def compare(
    with_polish: Radii, without_polish: Radii, seed: int, resamples: int = 2000
) -> list[Comparison]:
    """Difference of median radii, one per rise, with a bootstrap interval (Efron 1979).

    Direction d of one run and of the other have the same draws, so they are resampled in pairs.
    The interval is that of the percentiles at 95 %. Print `CAVEATS` with it. The width is that of
    the loss on one batch: polish may be narrower on text of all sources and wider on that of its
    own, so measure both.

    Raises:
        ValueError: the directions or the rises are not the same.
    """
    drawn_as = [(r.seed, r.rises_nats, r.radii.shape) for r in (with_polish, without_polish)]
    if drawn_as[0] != drawn_as[1]:
        raise ValueError("radii along other directions, or of other rises, do not compare")
    count = len(with_polish.radii)
    drawn = np.random.default_rng([seed, Purpose.BASIN_BOOTSTRAP]).integers(
        count, size=(resamples, count)
    )
    results = []
    for place, rise in enumerate(with_polish.rises_nats):
        ours, theirs = with_polish.radii[:, place], without_polish.radii[:, place]
        resampled = np.median(ours[drawn], axis=1) - np.median(theirs[drawn], axis=1)
        low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        medians = float(np.median(ours)), float(np.median(theirs))
        answer = "wider" if low > 0 else "narrower" if high < 0 else "undecided"
        results.append(
            Comparison(rise, *medians, medians[0] - medians[1], float(low), float(high), answer)
        )
    return results
