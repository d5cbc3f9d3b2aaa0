"""A model under EleutherAI's `lm-eval`: scores and text for a local folder of tasks.

Everything is the library's (Gao et al. 2024, lm-evaluation-harness), on the folder that an export
writes; BOS is told of here, and what a user did wrong.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import datasets
import jinja2
import lm_eval
import transformers
from lm_eval.api.registry import get_metric, metric_registry
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
from lm_eval.tasks._yaml_loader import load_yaml

from andrea.common.errors import UserError, line
from andrea.exporting import folder as export
from andrea.exporting import tasks
from andrea.exporting.templates import sandboxed
from andrea.model.gpt import GPT
from andrea.tokens.tokenizer import Tokenizer

Pair = tuple[Any, list[int], list[int]]
TASK_ERRORS = (  # that a wrong task brings the library to
    jinja2.TemplateError, AssertionError, AttributeError, LookupError, SyntaxError, TypeError,
    UserError, ValueError,
)  # fmt: skip


class Reader(HFLM):  # type: ignore[misc]
    """The library's class of an exported folder, with BOS before each text, as training has it."""

    def __init__(self, model: GPT, tokenizer: Tokenizer, rows: int) -> None:
        """Export a network and read the folder.

        Args:
            model: in fp32, on the device on which the folder's network shall be.
            rows: sequences that are read at once.
        """
        datasets.disable_progress_bars()
        transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        logging.getLogger("lm_eval").setLevel(logging.ERROR)  # it tells of every default
        with tempfile.TemporaryDirectory() as made:
            path = Path(made) / "model"
            export.write(path, model, tokenizer, "")
            # The library's cache takes one continuation's logits for another's where both end in
            # the same tokens but begin at different ones, as windows of a text that repeats do.
            super().__init__(
                str(path), device=str(model.token.device), dtype="float32", batch_size=rows,
                add_bos_token=True, logits_cache=False,
            )  # fmt: skip
        self.tokenizer.split_special_tokens = True  # in a text, the word for BOS is text

    @property
    def max_gen_toks(self) -> int:
        """Of an answer whose task names no length: the question keeps half of the context."""
        return int(min(super().max_gen_toks, self.max_length // 2))

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = True) -> list[float]:
        """Nats of whole texts; the first window begins with BOS as it is, which is not scored."""
        self.add_bos_token = False
        try:
            nats: list[float] = super().loglikelihood_rolling(requests, disable_tqdm)
        finally:
            self.add_bos_token = True
        return nats

    def generate_until(self, requests: list[Any], disable_tqdm: bool = True) -> list[str]:
        """Answers, without a bar before which an error would stand."""
        answers: list[str] = super().generate_until(requests, disable_tqdm)
        return answers

    def _loglikelihood_tokens(
        self, requests: list[Pair], disable_tqdm: bool = False, override_bs: int | None = None
    ) -> list[tuple[float, bool]]:
        for _, _, after in requests:
            if len(after) > self.max_length:  # the library asserts it without a word
                raise UserError(
                    f"a continuation of {len(after)} tokens, the context has {self.max_length}"
                )
        # Where a token spans text and continuation, nothing may be left to be scored.
        scored = iter(
            super()._loglikelihood_tokens([r for r in requests if r[2]], True, override_bs)
        )
        return [next(scored) if after else (0.0, True) for _, _, after in requests]


def evaluate(
    model: Reader, folder: Path, limit: int | None, trust_code: bool
) -> dict[str, dict[str, float]]:
    """Run every task of a folder.

    Args:
        folder: of YAML files and their data.
        limit: most documents of a task; None for all.
        trust_code: whether functions that the folder names may be run.

    Returns:
        Numbers by task and metric.

    Raises:
        UserError: a task is wrong, names code that is not trusted, or cannot be run.
    """
    with tempfile.TemporaryDirectory() as cache, sandboxed(not trust_code):
        built = {file: _build(file, cache, trust_code) for file in tasks.files(folder)}
        try:
            results = lm_eval.simple_evaluate(
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
        for task, numbers in sorted(results["results"].items())
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
