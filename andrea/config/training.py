"""What decides a training: scale, optimizer, bandit, curriculum, the three regimes, compute, watch.

A change of any of these numbers trains again. A regime's region is
`{w : sum w = 1, lower <= w <= upper}`; a source that it does not name has cap 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from andrea.common.codec import Range
from andrea.common.errors import UserError

Count = Annotated[int, Range(1)]
Share = Annotated[float, Range(0, 1)]
Decay = Annotated[float, Range(0, 1, below=True)]
REGIMES = ("warmup", "firehose", "polish")
BYTES_AND_BOS = 257
Segments = Annotated[int, Range(1, 2**16 - BYTES_AND_BOS)]
# Of a scale: refused in `params.yaml`, and read in checkpoints of format 2.
FORMER_NAMES = {
    "width": "d_model",
    "heads": "n_heads",
    "layers": "n_layers",
    "rows": "micro_batch",
    "accumulation": "grad_accumulation",
    "head_start": "bigram_init",
    "peak_rate": "lr",
}
LEAST_BIGRAM_WIDTH = 8  # a quarter of the features tells positions, and takes at least two


@dataclass(frozen=True)
class Scale:
    """One scale. Sizes are those of ANDREA's network: untied head, no biases."""

    segments: Segments
    d_model: Count
    n_heads: Count
    n_layers: Count
    context: Annotated[int, Range(2)]
    micro_batch: Count
    grad_accumulation: Count
    steps: Count
    bigram_init: Annotated[int, Range(0)]
    lr: Annotated[float, Range(0, 1, above=True)]
    log_every: Count
    snapshots: Annotated[int, Range(0, 100)] = 0

    def check(self, key: str) -> None:
        """Raise UserError where two values do not fit together."""
        if self.d_model % self.n_heads:
            raise UserError(
                f"{key}.d_model: {self.d_model} is not divisible by {self.n_heads} heads"
            )
        least = max(LEAST_BIGRAM_WIDTH, 2 * self.n_heads)
        if self.bigram_init > 0 and self.d_model < least:
            raise UserError(
                f"{key}.d_model: {self.d_model} with {self.n_heads} heads is too narrow for bigram"
                f" init; {least} or more is needed, or {key}.bigram_init 0"
            )

    @property
    def vocabulary(self) -> int:
        """Token ids: 256 bytes, BOS, and the segments."""
        return BYTES_AND_BOS + self.segments

    @property
    def parameters(self) -> int:
        """Weights of the network, `12 d^2 L + 2 V d + T d`."""
        d, vocabulary = self.d_model, self.vocabulary
        return 12 * d * d * self.n_layers + 2 * vocabulary * d + self.context * d

    @property
    def step_tokens(self) -> int:
        """Tokens that one optimiser step reads."""
        return self.micro_batch * self.grad_accumulation * self.context


@dataclass(frozen=True)
class Optimizer:
    """AdamW; `lr_warmup` is a share of the run's steps, `final_lr` one of the peak `lr`."""

    beta1: Decay
    beta2: Decay
    epsilon: Annotated[float, Range(0, above=True)]
    weight_decay: Annotated[float, Range(0)]
    grad_clip: Annotated[float, Range(0)]
    lr_warmup: Share
    final_lr: Share


@dataclass(frozen=True)
class Bandit:
    """Rule and reward; `probe_rows` sequences of each source are read per probe."""

    rule: Literal["ducb", "ucb1", "exp3", "fixed"]
    reward: Literal["probe", "slope", "ema"]
    discount: Annotated[float, Range(0, 1, above=True)]
    exploration: Annotated[float, Range(0)]
    probe_rows: Annotated[int, Range(1)]

    def check(self, key: str) -> None:
        """Raise UserError where two values do not fit together."""
        if self.rule == "exp3" and self.exploration > 1:
            raise UserError(
                f"{key}.exploration: {self.exploration:g} is not allowed with rule exp3, must be"
                " from 0 to 1"
            )


@dataclass(frozen=True)
class Curriculum:
    """Phase lengths in steps; `random_share` of phases teleport, the rest step by `eta`."""

    shortest_phase: Count
    longest_phase: Count
    random_share: Share
    eta: Share

    def check(self, key: str) -> None:
        """Raise UserError where two values do not fit together."""
        if self.shortest_phase > self.longest_phase:
            raise UserError(
                f"{key}.shortest_phase: {self.shortest_phase} is above {key}.longest_phase"
                f" ({self.longest_phase}); ANDREA walks 7 to 42"
            )


@dataclass(frozen=True)
class Regime:
    """One regime: it ends at the share `end` of the run's steps."""

    end: Share
    sources: Literal["all"] | tuple[str, ...]
    floors: Mapping[str, Share]
    caps: Mapping[str, Share]


@dataclass(frozen=True)
class Warmup(Regime):
    """The first regime: it may start from a checkpoint file instead of from noise."""

    start: str | None


@dataclass(frozen=True)
class Polish(Regime):
    """The last regime: `floor` holds the weight of `priority` up."""

    priority: str
    floor: Share


@dataclass(frozen=True)
class Bounds:
    """Floors and caps of every source, in the order of `sources` (all shape (k,))."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]


def last_step(regime: Regime, steps: int) -> int:
    """First step after the regime: its share of the run, rounded half up."""
    return math.floor(regime.end * steps + 0.5)


def bounds(name: str, regime: Regime, sources: Sequence[str]) -> Bounds:
    """The region of the regime `name`.

    Raises:
        UserError: a source is unknown or the region is empty; names the sources that bind.
    """
    floors = dict(regime.floors)
    if isinstance(regime, Polish):
        _known(regime.priority, sources, f"{name}.priority")
        if regime.priority in floors:
            raise UserError(f"{name}.floors.{regime.priority}: set {name}.floor instead")
        floors[regime.priority] = regime.floor
    for key, named in (("floors", regime.floors), ("caps", regime.caps)):
        for source in named:
            _known(source, sources, f"{name}.{key}.{source}")
    taking_part = list(sources) if regime.sources == "all" else list(regime.sources)
    if not taking_part:
        raise UserError(f"{name}.sources: none is named, must be `all` or a list of sources")
    for source in taking_part:
        _known(source, sources, f"{name}.sources")
    upper = {s: regime.caps.get(s, 1.0) if s in taking_part else 0.0 for s in sources}
    for source, floor in floors.items():
        own = isinstance(regime, Polish) and source == regime.priority
        key = f"{name}.floor" if own else f"{name}.floors.{source}"
        if floor > 0 and upper[source] == 0:
            raise UserError(f"{key}: {floor:g} is a floor on {source}, which {name} excludes")
        if floor > upper[source]:
            raise UserError(f"{key}: {floor:g} is above the cap {upper[source]:g} of {source}")
    total = math.fsum(floors.values())
    if total > 1 + 1e-12:
        listed = ", ".join(f"{s} {f:g}" for s, f in floors.items() if f > 0)
        raise UserError(f"{name}.floors: sum to {total:g}, at most 1 is allowed ({listed})")
    room = math.fsum(upper.values())
    if room < 1 - 1e-12:
        raise UserError(f"{name}.caps: sum to {room:g} over its sources, at least 1 is needed")
    lower = tuple(floors.get(s, 0.0) for s in sources)
    return Bounds(lower, tuple(upper[s] for s in sources))


def _known(source: str, sources: Sequence[str], key: str) -> None:
    if source not in sources:
        raise UserError(f"{key}: unknown source {source!r}, known are {', '.join(sources)}")


@dataclass(frozen=True)
class Compute:
    """`auto` takes the best that the machine has; anything else is taken or refused."""

    device: Literal["auto", "cpu", "cuda", "mps"]
    dtype: Literal["auto", "fp32", "bf16"]
    compile: bool
    threads: Literal["auto"] | Annotated[int, Range(1)]


@dataclass(frozen=True)
class Watch:
    """Alarms and samples; only `on_cliff: exclude` may change what is trained."""

    enabled: bool
    sample_every: Count
    sample_tokens: Annotated[int, Range(16)]
    sample_temperature: Annotated[float, Range(0)]
    sample_top_k: Count
    prompts: tuple[str, ...]
    degenerate_in_a_row: Count
    on_cliff: Literal["report", "exclude", "halt"]
    cliff_ratio: Annotated[float, Range(0, 1, above=True, below=True)]

    def check(self, key: str) -> None:
        """Raise UserError where a value has no meaning."""
        if not self.prompts:
            raise UserError(f"{key}.prompts: at least one is needed; '' starts from nothing")
