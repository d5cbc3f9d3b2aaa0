"""The geometry of a run as tables: one list of rows per CSV file, ready to be plotted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from andrea.geometry.heads import Heads as Figures
from andrea.geometry.subspaces import PROJECTIONS
from andrea.report.geometry import Geometry

Row = dict[str, Any]
QUARTILES = ("q25", "median", "q75")


def tables(found: Geometry) -> dict[str, list[Row]]:
    """Rows by name of the table, all with the columns of the first; empty tables are left out."""
    made = {
        "table": _table(found),
        "components": _components(found),
        "similarity": _similarity(found),
        "movement": _movement(found),
        "words": _words(found),
        "chosen": _chosen(found),
        "related": _related(found),
        "pairs": _pairs(found),
        "heads": _heads(found),
        "subspaces": _subspaces(found),
        "basins": _basins(found),
        "slices": _slices(found),
        "plane": _plane(found),
        "checkpoints": _checkpoints(found),
        "judgements": _judgements(found),
        "steepness": _steepness(found),
        "walk": _walk(found),
        "timeline": _timeline(found),
        "shares": _shares(found),
        "where": _where(found),
    }
    return {name: list_ for name, rows in made.items() if (list_ := list(rows))}


def _table(found: Geometry) -> Iterator[Row]:
    """The token table at each checkpoint."""
    every = zip(found.facts.checkpoints, found.vectors.spectra, found.vectors.cosines, strict=True)
    for name, spectrum, cosines in every:
        yield {
            "checkpoint": name,
            "effective_rank": spectrum.effective_rank,
            "participation_ratio": spectrum.participation_ratio,
            "isotropy": spectrum.isotropy,
            "mean_cosine": cosines.any_pair,
            "mean_cosine_same_frequency": cosines.same_bin,
        }


def _components(found: Geometry) -> Iterator[Row]:
    for name, top in zip(found.facts.checkpoints, found.vectors.components, strict=True):
        for place, (share, correlation) in enumerate(zip(top.shares, top.correlation, strict=True)):
            yield {
                "checkpoint": name,
                "component": place + 1,
                "share": share,
                "frequency_correlation": correlation,
            }


def _similarity(found: Geometry) -> Iterator[Row]:
    names, same = found.facts.checkpoints, found.vectors.similarity
    for i, one in enumerate(names):
        for j, other in enumerate(names[i + 1 :], i + 1):
            yield {"one": one, "other": other, "cka": same.cka[i, j], "chance": same.chance[i, j]}


def _movement(found: Geometry) -> Iterator[Row]:
    moved, bins = found.vectors.movement, found.vectors.bins
    for place, name in enumerate(found.facts.checkpoints[1:]):
        for number, label in enumerate(bins.labels):
            row: Row = {"checkpoint": name, "occurrences": label, "tokens": bins.sizes[number]}
            for column in ("from_start", "in_regime", "cosine"):
                quartiles = getattr(moved, f"{column}_quartiles")[place, number]
                row |= {f"{column}.{q}": x for q, x in zip(QUARTILES, quartiles, strict=True)}
            yield row


def _words(found: Geometry) -> Iterator[Row]:
    words = found.vectors.words
    for place, word in enumerate(words.words):
        x, y = words.map.places[place]
        near = [words.words[other] for other in words.neighbours.ids[place]]
        yield {
            "word": word, "count": words.counts[place], "tokens": words.tokens[place],
            "x": x, "y": y, "nearest": " ".join(near),
        }  # fmt: skip


def _chosen(found: Geometry) -> Iterator[Row]:
    chosen = found.vectors.chosen
    for i, one in enumerate(chosen.words):
        for j, other in enumerate(chosen.words[i + 1 :], i + 1):
            yield {
                "word": one,
                "other": other,
                "euclidean": chosen.euclidean[i, j],
                "cosine": chosen.cosine[i, j],
            }


def _related(found: Geometry) -> Iterator[Row]:
    for row in found.vectors.related:
        if row.found is not None:
            yield {
                "checkpoint": row.checkpoint,
                "same_part_of_speech": row.same_part,
                "pairs": len(row.found.pairs),
                "relatives": row.found.relatives,
                "related_cosine": row.found.mean_related,
                "random_cosine": row.found.mean_expected,
                "difference": row.found.difference,
                "low": row.found.low,
                "high": row.found.high,
                "wins": row.found.wins,
            }


def _pairs(found: Geometry) -> Iterator[Row]:
    """Of the last checkpoint's table, beside words of any part of speech."""
    for row in found.vectors.related:
        close = row.found
        if (
            close is not None
            and row.checkpoint == found.facts.checkpoints[-1]
            and not row.same_part
        ):
            for place, pair in enumerate(close.pairs):
                yield {
                    "word": pair.word,
                    "relative": pair.relative,
                    "part_of_speech": pair.part,
                    "kind": pair.kind,
                    "cosine": close.related[place],
                    "random_word": close.strangers[place],
                    "random_cosine": close.strange[place],
                    "expected_cosine": close.expected[place],
                }


def _heads(found: Geometry) -> Iterator[Row]:
    shown = {"text": found.heads.text, "repeated": found.heads.repeated}
    layers, heads = found.facts.layers, found.facts.heads
    for layer in range(layers):
        for head in range(heads):
            row: Row = {"head": f"{layer + 1}.{head + 1}"}
            for over, statistics in shown.items():
                for figure in fields(Figures):
                    mean = getattr(statistics.mean, figure.name)
                    error = getattr(statistics.standard_error, figure.name)
                    row[f"{over}_{figure.name}"] = mean[layer, head]
                    row[f"{over}_{figure.name}_error"] = error[layer, head]
            yield row


def _subspaces(found: Geometry) -> Iterator[Row]:
    shared, heads = found.heads.subspaces, found.facts.heads
    count = shared.rank.shape[1]
    names = [f"{place // heads + 1}.{place % heads + 1}" for place in range(count)]
    for number, projection in enumerate(PROJECTIONS):
        for i in range(count):
            for j in range(i + 1, count):
                yield {
                    "projection": projection,
                    "head": names[i],
                    "other": names[j],
                    "squared_cosine": shared.squared_cosine[number, i, j],
                    "expected": shared.expected[number, i, j],
                    "deviation": shared.deviation[number, i, j],
                }


def _basins(found: Geometry) -> Iterator[Row]:
    for basin in found.terrain.basins:
        row: Row = {"checkpoint": basin.checkpoint, "batch": basin.batch, "nats": basin.nats}
        for place, rise in enumerate(basin.radii.rises_nats):
            quartiles = basin.radii.quartiles[:, place]
            row |= {f"radius_{rise:g}.{q}": x for q, x in zip(QUARTILES, quartiles, strict=True)}
        row["sigma"] = basin.sigma.sigma
        for share, rise in zip(basin.sharpness_radii, basin.sharpness, strict=True):
            row[f"sharpness_{share:g}"] = rise
        top = basin.eigenvalue
        row |= {
            "eigenvalue": None if top is None else top.largest,
            "eigenvalue_error": None if top is None else top.error,
            "smallest_eigenvalue": None if top is None else top.smallest,
        }
        yield row


def _slices(found: Geometry) -> Iterator[Row]:
    """Loss beside each checkpoint: the middle one of the directions, the lowest, the highest."""
    shown = [
        (basin.checkpoint, basin.slices)
        for basin in found.terrain.basins
        if basin.slices is not None
    ]
    for place, distance in enumerate(shown[0][1].distances if shown else ()):
        row: Row = {"distance": distance}
        for name, slices in shown:
            nats = slices.nats[:, place]
            row[name] = np.median(nats)
            row |= {f"{name}.lowest": nats.min(), f"{name}.highest": nats.max()}
        yield row


def _plane(found: Geometry) -> Iterator[Row]:
    plane = found.terrain.plane
    if plane is not None:
        for y, losses in zip(plane.y, plane.nats, strict=True):
            for x, nats in zip(plane.x, losses, strict=True):
                yield {"x": x, "y": y, "nats": nats}


def _checkpoints(found: Geometry) -> Iterator[Row]:
    plane = found.terrain.plane
    if plane is not None:
        for place, name in enumerate(found.terrain.plane_checkpoints):
            yield {
                "checkpoint": name,
                "x": plane.path[place, 0],
                "y": plane.path[place, 1],
                "off_plane": plane.off_plane[place],
                "nats": plane.path_nats[place],
                "nats_at_the_shadow": plane.shadow_nats[place],
            }


def _judgements(found: Geometry) -> Iterator[Row]:
    for judged in found.terrain.judgements:
        for row in judged.rows:
            yield {
                "batch": judged.batch,
                "against": judged.against,
                "rise_nats": row.rise_nats,
                "radius": row.with_polish,
                "other_radius": row.without_polish,
                "difference": row.difference,
                "low": row.low,
                "high": row.high,
                "answer": row.answer if judged.against == "control" else "no control",
            }


def _steepness(found: Geometry) -> Iterator[Row]:
    for row in found.terrain.steepness:
        yield {
            "source": row.source,
            "critical_rate": row.last.rate,
            "sharpness": row.last.sharpness,
            "own_critical_rate": row.own.rate,
            "own_sharpness": row.own.sharpness,
        }


def _walk(found: Geometry) -> Iterator[Row]:
    path, sources = found.walk.path, found.facts.sources
    for place in range(len(path.steps)):
        yield {
            "start_step": path.start_step[place],
            "steps": path.steps[place],
            "regime": found.walk.regimes[path.regime[place]],
            "kind": path.kinds[place],
            "entropy": path.entropy[place],
            "nearest_corner": sources[path.corner[place]],
            "corner_distance": path.corner_distance[place],
            "vertex_distance": path.vertex_distance[place],
            "on_bound": path.on_bound[place],
            "x": found.walk.plane.path[place, 0],
            "y": found.walk.plane.path[place, 1],
            "off_plane": found.walk.plane.off_plane[place],
        }


def _timeline(found: Geometry) -> Iterator[Row]:
    line = found.walk.timeline
    for place, step in enumerate(line.edges[:-1]):
        row: Row = {"step": step}
        for column in ("planned", "realised", "scores", "rewards"):
            values = getattr(line, column)[place]
            row |= {f"{column}.{s}": x for s, x in zip(found.facts.sources, values, strict=True)}
        yield row


def _shares(found: Geometry) -> Iterator[Row]:
    shares, faces = found.walk.shares, found.walk.faces
    for place, regime in enumerate((*found.walk.regimes, "run")):
        for number, source in enumerate(found.facts.sources):
            inside = place < len(found.walk.regimes)
            yield {
                "regime": regime,
                "source": source,
                "planned": shares.planned[place, number],
                "realised": shares.realised[place, number],
                "centre": shares.centre[place, number],
                "bandit": shares.bandit[place, number],
                "random": shares.random[place, number],
                "time_on_floor": faces.on_floor[place, number] if inside else None,
                "time_on_cap": faces.on_cap[place, number] if inside else None,
            }


def _where(found: Geometry) -> Iterator[Row]:
    for row in found.walk.where:
        vertices = row.vertex_distance or (math.nan,) * len(row.entropy)
        yield {
            "regime": row.regime,
            "kind": row.kind,
            "steps": row.steps,
            "entropy": row.entropy[1],
            "corner_distance": row.corner_distance[1],
            "vertex_distance": vertices[1],
        }
