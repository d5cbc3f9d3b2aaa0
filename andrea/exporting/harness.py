"""Our network under EleutherAI's `lm-eval`, without `transformers`: scores and text for its tasks.

Texts are read as documents: BOS stands before them. Continuations are scored by the network itself,
windows are those of the library (Gao et al. 2024, lm-evaluation-harness).
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import datasets
import jinja2
import lm_eval
import numpy as np
import torch
from lm_eval import utils
from lm_eval.api.instance import Instance
from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import get_metric, metric_registry
from lm_eval.tasks import TaskManager
from lm_eval.tasks._yaml_loader import load_yaml
from torch.nn import functional

from andrea.common.codec import decode
from andrea.common.errors import UserError
from andrea.common.line import line
from andrea.common.seeds import Purpose
from andrea.exporting import tasks
from andrea.exporting.templates import sandboxed
from andrea.model.filters import Sampling
from andrea.model.generate import stream
from andrea.model.gpt import GPT
from andrea.tokens.tokenizer import BOS, Tokenizer

Pair = tuple[Any, list[int], list[int]]
T = TypeVar("T")
DEFAULT_TOKENS = 256  # of an answer, as the library has it
SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
TASK_ERRORS = (  # that a wrong task brings the library to
    jinja2.TemplateError, AssertionError, AttributeError, LookupError, SyntaxError, TypeError,
    ValueError,
)  # fmt: skip
NOT_SAMPLED = ("until", "max_gen_toks", "do_sample")


class Adapter(TemplateLM):  # type: ignore[misc]
    """A network and its tokenizer as the library wants a model."""

    def __init__(self, model: GPT, tokenizer: Tokenizer, rows: int) -> None:
        """Take a network on any device.

        Args:
            model: in fp32.
            tokenizer: the model's.
            rows: sequences that are read at once.
        """
        super().__init__()
        self._model, self._ours, self._rows = model, tokenizer, rows
        self._device = model.token.device

    @property
    def eot_token_id(self) -> int:
        """BOS stands between documents, so it begins and ends one."""
        return BOS

    @property
    def max_length(self) -> int:
        """Most tokens that are read at once."""
        return self._model.context

    def tok_encode(
        self, string: str, add_special_tokens: bool | None = None, **_: Any
    ) -> list[int]:
        """Ids of a text, BOS before them unless told otherwise."""
        ids: list[int] = self._ours.encode(string).tolist()
        return ids if add_special_tokens is False else [BOS, *ids]

    def _loglikelihood_tokens(self, requests: list[Pair], **_: Any) -> list[tuple[float, bool]]:
        """Nats of each continuation, as negative numbers, and whether all its tokens are likeliest.

        Raises:
            UserError: a continuation is longer than the context.
        """
        for _text, _before, after in requests:
            if len(after) > self.max_length:
                raise UserError(
                    f"a continuation of {len(after)} tokens, the context has {self.max_length}"
                )
        pairs = [(before, after) for _, before, after in requests]
        order = sorted(range(len(pairs)), key=lambda i: -len(pairs[i][0]) - len(pairs[i][1]))
        found: list[tuple[float, bool]] = [(0.0, True)] * len(pairs)
        for batch in _cut(order, self._rows):
            for place, scored in zip(batch, self._score([pairs[i] for i in batch]), strict=True):
                found[place] = scored
        return found

    @torch.no_grad()
    def _score(self, pairs: Sequence[tuple[list[int], list[int]]]) -> Iterator[tuple[float, bool]]:
        inputs = [(before + after)[-(self.max_length + 1) :][:-1] for before, after in pairs]
        width = max(map(len, inputs))
        ids_BT = torch.full((len(inputs), width), BOS)
        for row, held in enumerate(inputs):
            ids_BT[row, : len(held)] = torch.tensor(held)
        features_BTd = self._model.features(ids_BT.to(self._device))
        for row, (held, (_, after)) in enumerate(zip(inputs, pairs, strict=True)):
            read = features_BTd[row, len(held) - len(after) : len(held)]
            logs = functional.log_softmax(self._model.head(read).double(), dim=-1)
            ids = torch.tensor(after, dtype=torch.int64, device=self._device)
            nats = logs.gather(1, ids[:, None]).sum()
            yield float(nats), bool((logs.argmax(-1) == ids).all())

    def loglikelihood_rolling(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[float]:
        """Nats of each whole text, as negative numbers; a long one is read in windows."""
        windows: list[Pair] = []
        owners: list[int] = []
        for number, request in enumerate(requests):
            ids = self.tok_encode(request.args[0], add_special_tokens=False)
            cut = utils.get_rolling_token_windows(ids, BOS, self.max_length, 1)
            for before, after in map(utils.make_disjoint_window, cut):
                windows.append((None, before, after))
                owners.append(number)
        sums = np.zeros(len(requests))
        for owner, (nats, _) in zip(owners, self._loglikelihood_tokens(windows), strict=True):
            sums[owner] += nats
        return [float(nats) for nats in sums]

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """What the model writes after each text, up to a stop mark, the next document or a length.

        Raises:
            UserError: a task asks for something that there is not.
        """
        answers = [""] * len(requests)
        groups: dict[str, list[int]] = {}
        for number, request in enumerate(requests):
            groups.setdefault(repr(sorted(request.args[1].items())), []).append(number)
        for group in groups.values():
            until, tokens, sampling = _asked(requests[group[0]].args[1])
            for batch in _cut(group, self._rows):
                texts = [requests[i].args[0] for i in batch]
                for place, text in zip(
                    batch, self._write(texts, until, tokens, sampling, batch[0]), strict=True
                ):
                    answers[place] = text
        return answers

    def _write(
        self, texts: list[str], until: list[str], tokens: int, sampling: Sampling, key: int
    ) -> list[str]:
        room = self.max_length - min(tokens, self.max_length // 2)
        prompts = [np.array(self.tok_encode(text)[-room:]) for text in texts]
        drawn: list[list[int]] = [[] for _ in texts]
        answers: list[str | None] = [None] * len(texts)
        for ids in stream(self._model, prompts, tokens, sampling, (0, Purpose.WRITING, key)):
            for row, token in enumerate(ids):
                if answers[row] is None:
                    drawn[row].append(int(token))
                    answers[row] = self._finished(drawn[row], until)
            if None not in answers:
                break
        return [
            self._ours.decode(row) if answer is None else answer
            for row, answer in zip(drawn, answers, strict=True)
        ]

    def _finished(self, ids: list[int], until: list[str]) -> str | None:
        """The answer, where it is whole."""
        text = self._ours.decode(ids)
        ends = [at for at in map(text.find, until) if at >= 0]
        if ends:
            return text[: min(ends)]
        return text if ids[-1] == BOS else None


def evaluate(
    model: Adapter, folder: Path, limit: int | None, trust_code: bool
) -> dict[str, dict[str, float]]:
    """Run every task of a folder.

    Args:
        model: what is measured.
        folder: of YAML files and their data.
        limit: most documents of a task; None for all.
        trust_code: whether functions that the folder names may be run.

    Returns:
        Numbers by task and metric.

    Raises:
        UserError: a task is wrong, names code that is not trusted, or cannot be run.
    """
    datasets.disable_progress_bars()
    logging.getLogger("lm_eval").setLevel(logging.ERROR)  # it tells of every default
    with tempfile.TemporaryDirectory() as cache, sandboxed(not trust_code):
        built = {file: _build(file, cache, trust_code) for file in tasks.files(folder)}
        try:
            found = lm_eval.simple_evaluate(
                model, tasks=list(built.values()), limit=limit, bootstrap_iters=0,
                log_samples=False, task_manager=TaskManager(include_defaults=False),
            )  # fmt: skip
        except TASK_ERRORS as error:
            named = ", ".join(str(file) for file in built)
            raise UserError(f"{named}: cannot be run ({line(_told(error))})") from error
    return {
        task: {
            name.removesuffix(",none"): float(value)
            for name, value in sorted(numbers.items())
            if isinstance(value, int | float) and "_stderr" not in name and name != "sample_len"
        }
        for task, numbers in sorted(found["results"].items())
    }


def _build(file: Path, cache: str, trust_code: bool) -> Any:
    """The library's task."""
    get_metric("acc")  # has the library fill its registry
    if trust_code:
        config = tasks.with_paths(file, load_yaml(file))
    else:
        config = tasks.read(file, metric_registry.keys())
    if config.get("dataset_path") in tasks.KINDS:
        config["dataset_kwargs"] = {**config["dataset_kwargs"], "cache_dir": cache}
    try:
        built = TaskManager(include_defaults=False).load([config])["tasks"]
    except Exception as error:  # whatever the library and its readers of data raise
        raise UserError(f"{file}: not a task that can be run ({line(_told(error))})") from error
    (task,) = built.values()
    try:
        _refuse_wrong_documents(task)
    except TASK_ERRORS as error:
        raise UserError(f"{file}: not a task that can be run ({line(_told(error))})") from error
    return task


def _refuse_wrong_documents(task: Any) -> None:
    """Have every document say what is asked and answered, before the model reads anything.

    Raises:
        ValueError: there is none, or the answer of one is none of its choices.
    """
    documents = list(task.eval_docs)
    if not documents:
        raise ValueError("its split holds no document")
    for number, document in enumerate(documents, 1):
        task.doc_to_text(document)
        target = task.doc_to_target(document)
        if task.OUTPUT_TYPE == "multiple_choice" and type(target) is int:
            choices = len(task.doc_to_choice(document))
            if not 0 <= target < choices:
                raise ValueError(f"document {number}: answer {target} of {choices} choices")


def _told(error: Exception) -> str:
    """What went wrong, of errors behind errors the first."""
    while isinstance(error.__cause__, Exception):
        error = error.__cause__
    return str(error) if isinstance(error, UserError) else repr(error)


def _asked(given: Mapping[str, Any]) -> tuple[list[str], int, Sampling]:
    """Stop marks, most tokens, and how tokens are taken."""
    for key in given:
        if key not in (*NOT_SAMPLED, *SAMPLING):
            allowed = ", ".join((*NOT_SAMPLED, *SAMPLING))
            raise UserError(f"generation_kwargs.{line(key, 40)}: allowed are {allowed}")
    until = given.get("until") or []
    until = [until] if isinstance(until, str) else list(until)
    tokens = decode(given.get("max_gen_toks", DEFAULT_TOKENS), int, "generation_kwargs.tokens")
    numbers = {name: given[name] for name in SAMPLING if name in given}
    if not given.get("do_sample", False):
        numbers = {"temperature": 0.0}
    return until, tokens, decode(numbers, Sampling, "generation_kwargs")


def _cut(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
