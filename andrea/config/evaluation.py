"""Section `evaluate`: what the three checkpoints are measured on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from andrea.common.codec import Range

Count = Annotated[int, Range(1)]


@dataclass(frozen=True)
class Evaluate:
    """Held-out text, out-of-domain text, samples and passages to recite."""

    rows: Count
    samples: Count
    sample_prompt_tokens: Count
    sample_tokens: Count
    sample_temperature: Annotated[float, Range(0)]
    sample_top_k: Count
    memorization_prompts: Count
