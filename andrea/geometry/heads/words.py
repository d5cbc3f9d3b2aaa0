"""The chapter on heads, in words."""

from __future__ import annotations

import numpy as np

from andrea.geometry.heads import figures as draw
from andrea.geometry.heads.measure.heads import Statistics, head_names
from andrea.geometry.heads.measure.result import Heads, Prompt
from andrea.geometry.heads.measure.subspaces import PROJECTIONS
from andrea.geometry.measure.result import Geometry
from andrea.geometry.page.section import Chapter, Picture, Section, Table, listed

READABLE = 8  # heads drawn one by one; of more, the sharpest


def chapter(geometry: Geometry) -> Chapter:
    """The heads of a run's last checkpoint."""
    heads, facts = geometry.heads, geometry.facts
    several = facts.layers * facts.heads > 1
    return Chapter(
        "heads",
        "Heads: a head is a projection",
        f"{facts.layers} layers of {facts.heads} heads each look at the text through windows of"
        f" {heads.text.features} of the {facts.width} directions. All is measured after"
        f" {facts.checkpoints[-1]}; a head 1.2 is the second of the first layer.",
        [
            *(_prompt(prompt, number) for number, prompt in enumerate(heads.prompts)),
            *(_position(prompt, number) for number, prompt in enumerate(heads.prompts[:1])),
            _statistics(heads.text, "text", "What the heads are like", "held-out text"),
            _statistics(
                heads.repeated, "repeated", "Heads that repeat", "random tokens that come again"
            ),
            _scaling(heads.text),
            *([_subspaces(heads, facts.layers, facts.width)] if several else []),
        ],
    )


def _prompt(prompt: Prompt, number: int) -> Section:
    layers, heads = prompt.weights.shape[:2]
    names = head_names(layers, heads)
    flat = prompt.weights.reshape(-1, *prompt.weights.shape[2:])
    sharp = flat[:, 1:].max(axis=2).mean(axis=1)
    chosen = np.sort(np.argsort(-sharp, kind="stable")[:READABLE])
    pictures = []
    if len(names) > READABLE:
        alternative = "Weights of all heads, a layer a row."
        pictures.append(Picture(draw.montage(prompt.weights), alternative, "All heads."))
    pictures += [
        Picture(
            draw.attention(prompt.pieces, flat[head], f"head {names[head]}"),
            f"Head {names[head]}: on average {sharp[head]:.0%} of a token's weight is on one"
            " token.",
            comparable=False,
        )
        for head in chosen
    ]
    return Section(
        f"prompt-{number + 1}",
        f"What the heads see in “{prompt.text.strip()}”",
        "Each row is a token that looks, each column a token that is looked at; bright is much"
        " weight. A token sees only itself and what stands before it, so the upper right is blank.",
        "Look for a stripe under the diagonal (a head that looks one back), a bright first column"
        " (a head at rest), and rows that light up at one token far back.",
        f"The sharpest head is {names[int(sharp.argmax())]}: {sharp.max():.0%} of its weight on one"
        f" token, the evenest {names[int(sharp.argmin())]} with {sharp.min():.0%}. Colours show the"
        " square root of the weight. These weights lead to the fast path's logits within"
        f" {prompt.error:.1g}.",
        pictures,
    )


def _position(prompt: Prompt, number: int) -> Section:
    position, token = prompt.position, prompt.pieces[prompt.place]
    with_, without = (
        position.weights.max(axis=2).mean(),
        position.unscaled_weights.max(axis=2).mean(),
    )
    pieces = prompt.pieces[: prompt.place + 1]
    picture = Picture(
        draw.position(pieces, position),
        f"Scores, divided scores, weights and undivided weights of token {token} on the"
        f" {len(pieces)} tokens up to it, for every head.",
        comparable=False,
    )
    return Section(
        f"position-{number + 1}",
        f"One token closely: position {prompt.place}, “{token}”",
        "A head multiplies the query of this token with the keys of all tokens before it, divides"
        " by √dₖ and turns the result into weights that sum to 1. The four strips show these steps,"
        " a head a row.",
        "Look at how the division draws the scores together without changing their order, and at"
        " how much more the undivided softmax puts on the largest.",
        f"Scores run from {position.scores.min():.1f} to {position.scores.max():.1f}, divided from"
        f" {position.scaled.min():.1f} to {position.scaled.max():.1f}. The largest weight is"
        f" {with_:.2f} on the mean over heads; without the division it would be {without:.2f}.",
        [picture],
        metrics={"largest weight of the position": float(with_)},
    )


def _statistics(statistics: Statistics, name: str, title: str, text: str) -> Section:
    mean, uniform = statistics.mean, statistics.uniform
    names = head_names(*mean.entropy_share.shape)
    sharpest = int(mean.entropy_share.argmin())
    parts = []
    for field, what in (
        ("previous_token_weight", "looks most at the previous token"),
        ("induction_weight", "has the highest induction score"),
        ("first_token_weight", "rests most on the first token"),
    ):
        values = getattr(mean, field)
        parts.append(
            f"head {names[int(values.argmax())]} {what} ({values.max():.2f}; a uniform head"
            f" {getattr(uniform, field)[0, 0]:.2f})"
        )
    sentence, induction = listed(parts), name == "repeated"
    picture = Picture(
        draw.statistics(statistics),
        f"Five layer-by-head tables over {text}: entropy, distance, weight on the first and"
        " on the previous token, induction score.",
    )
    return Section(
        f"heads-{name}",
        title,
        f"Means over {text}, layer by head, beside a head that looks everywhere alike. "
        + (
            "The same tokens come several times in a row, so only a head that looks for what"
            " followed last time can know what comes next (an induction head)."
            if induction
            else "Entropy says how spread out a head looks, distance how far back."
        ),
        "Look for what is far from the uniform head, which alone tells something. "
        + (
            "An induction score near 1 in the second or a later layer is the classic finding; small"
            " networks often have none."
            if induction
            else "Heads of one layer that differ share the labour out."
        ),
        f"{sentence[0].upper()}{sentence[1:]}. The sharpest head is {names[sharpest]}"
        f" with {mean.entropy_share.min():.2f} of the largest entropy.",
        [picture],
        metrics={
            "largest previous-token weight": float(mean.previous_token_weight.max()),
            "largest induction score": float(mean.induction_weight.max()),
            "mean entropy share": float(mean.entropy_share.mean()),
        },
    )


def _scaling(statistics: Statistics) -> Section:
    mean, root = statistics.mean, statistics.features**0.5
    with_, without = mean.largest_weight.mean(), mean.unscaled_largest_weight.mean()
    spread = float(np.sqrt((mean.score_spread**2).mean()))
    picture = Picture(
        draw.scaling(statistics),
        f"Largest weight of a position by head: {with_:.2f} on the mean with the division,"
        f" {without:.2f} without.",
    )
    return Section(
        "scaling",
        "What the division by √dₖ does",
        "Products of long vectors are large, and a softmax of large numbers is almost a choice of"
        " one token. Dividing by √dₖ, the square root of a head's features, keeps the softmax soft,"
        " so that it can still learn.",
        "Look at how far the diamonds (not divided) stand to the right of the dots.",
        f"Here √dₖ is {root:.1f}; the scores of a position spread by {spread:.1f}, where"
        f" independent features of variance 1 would spread by {root:.1f}. The largest weight is"
        f" {with_:.2f} with the division and would be {without:.2f} without; the entropy share"
        f" {mean.entropy_share.mean():.2f} and {mean.unscaled_entropy_share.mean():.2f}.",
        [picture],
        metrics={
            "largest weight, divided": float(with_),
            "largest weight, not divided": float(without),
            "spread of the scores": spread,
        },
    )


def _subspaces(heads: Heads, layers: int, width: int) -> Section:
    subspaces = heads.subspaces
    features = heads.text.features
    off = ~np.eye(subspaces.rank.shape[1], dtype=bool)
    means = [float(shared[off].mean()) for shared in subspaces.squared_cosine]
    away = [z[off] for z in draw.overlaps(subspaces)]
    listed_means = listed(
        [f"{mean:.3f} ({name})" for name, mean in zip(PROJECTIONS, means, strict=True)]
    )
    table = Table.of(
        "Overlap of two heads",
        ("projection", PROJECTIONS, ""),
        ("mean", means, ".3f"),
        ("random", [shared[off].mean() for shared in subspaces.expected], ".3f"),
        ("deviations from random", [f"{z.min():+.1f} to {z.max():+.1f}" for z in away], ""),
    )
    return Section(
        "subspaces",
        "Do heads look through the same window?",
        f"A head reads only {features} of {width} directions. Principal angles say how two such"
        " windows lie to each other: 0 degrees is a shared direction, 90 one that the other cannot"
        " see.",
        "Look for what is several standard deviations from random: above, two heads read the same"
        " features; below, they share the stream out among themselves.",
        f"Random windows of this size overlap by {features}/{width} = {features / width:.3f}. Here"
        f" it is {listed_means} on the mean over pairs of heads.",
        [
            Picture(
                draw.subspaces(layers, subspaces),
                "Overlap of every two heads in standard deviations from random, for"
                f" {listed(PROJECTIONS)}.",
            ),
            Picture(
                draw.angles(subspaces),
                "Principal angles between heads of a layer, beside those of random subspaces.",
                "Principal angles, mean over the pairs of heads of a layer.",
            ),
        ],
        [table],
        metrics={f"overlap, {name}": mean for name, mean in zip(PROJECTIONS, means, strict=True)},
    )
