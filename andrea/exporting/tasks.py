"""Tasks of `lm-eval` from a folder: YAML files and local data, read so that none of it runs code.

A task of `lm-eval` can name Python functions, classes, data sets that are pickles, and metrics that
are scripts, and its templates can reach into Python. Here it cannot: what is allowed is listed, and
the rest is refused, unless the user trusts the folder.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from andrea.common.codec import Range, decode
from andrea.common.errors import UserError, line
from andrea.exporting.untrusted import inside
from andrea.model.filters import Sampling

LARGEST_BYTES = 1_000_000
KINDS = ("json", "csv", "parquet", "arrow", "text")  # of data that `datasets` reads as data
OUTPUTS = ("loglikelihood", "loglikelihood_rolling", "generate_until", "multiple_choice")
WRITING = {
    "until": str | list[str] | None, "max_gen_toks": Annotated[int, Range(1)], "do_sample": bool
}  # fmt: skip
SAMPLING = tuple(field.name for field in fields(Sampling))
TEXTS = {
    "task", "task_alias", "training_split", "validation_split", "test_split", "fewshot_split",
    "doc_to_text", "doc_to_target", "description", "target_delimiter", "fewshot_delimiter",
    "gen_prefix", "output_type", "dataset_path",
}  # fmt: skip
ALLOWED = TEXTS | {
    "tag", "dataset_kwargs", "doc_to_choice", "num_fewshot", "metric_list", "generation_kwargs",
    "repeats", "filter_list", "fewshot_config", "metadata",
}  # fmt: skip


def files(folder: Path) -> list[Path]:
    """The YAML files of a folder of tasks, in the order of their names.

    Raises:
        UserError: there is no such folder, or none in it.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder of tasks")
    names = sorted(path.name for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
    if not names:
        raise UserError(f"{folder}: no task in it, such as task.yaml")
    return [inside(folder, name) for name in names]


def read(path: Path, metrics: Iterable[str]) -> dict[str, Any]:
    """One task as plain values, with the paths of its data made absolute.

    Args:
        path: of the YAML file; its data lie in the same folder.
        metrics: that the library itself knows.

    Raises:
        UserError: names the file and what is wrong, or what would run code.
    """
    task = _plain(path)
    for key in task:
        if key not in ALLOWED:
            raise UserError(
                f"{path}: {line(key, 40)!r} is not read from a folder that is not trusted"
                " (--trust-code)"
            )
    for key in TEXTS & task.keys():
        if not isinstance(task[key], str) and task[key] is not None:
            # A number that stands for the target, as in multiple choice.
            if key == "doc_to_target" and type(task[key]) is int:
                continue
            raise UserError(f"{path}: {key}: {line(repr(task[key]), 60)} is not text")
    if not task.get("task"):
        raise UserError(f"{path}: task: missing, the name of the task")
    for key, allowed in (("dataset_path", KINDS), ("output_type", OUTPUTS)):
        if task.get(key) not in allowed:
            shown = line(repr(task.get(key)), 60)
            raise UserError(f"{path}: {key}: {shown} is not one of {', '.join(allowed)}")
    known, measured = set(metrics), task.get("metric_list") or []
    if not isinstance(measured, list) or not all(isinstance(one, dict) for one in measured):
        raise UserError(f"{path}: metric_list: not a list of mappings")
    for metric in measured:
        for key in ("metric", "aggregation"):
            if key in metric and not isinstance(metric[key], str):
                raise UserError(f"{path}: metric_list: {key} {line(repr(metric[key]), 40)}")
        if metric.get("metric") not in known or metric.get("hf_evaluate"):
            shown = line(repr(metric.get("metric")), 40)
            raise UserError(f"{path}: metric_list: metric {shown} is not one of lm-eval's own")
    if task.get("generation_kwargs") is not None:
        task["generation_kwargs"] = _generation(path, task["generation_kwargs"])
    task["dataset_kwargs"] = _kwargs(path, task)
    return task


def with_paths(path: Path, task: dict[str, Any]) -> dict[str, Any]:
    """A trusted task, whose data files may be named from its folder too."""
    kwargs = task.get("dataset_kwargs")
    if isinstance(kwargs, dict) and "data_files" in kwargs and task.get("dataset_path") in KINDS:
        task["dataset_kwargs"] = {**kwargs, "data_files": _data_files(path, kwargs["data_files"])}
    return task


def _plain(path: Path) -> dict[str, Any]:
    """YAML of plain values: a tag such as `!function` is refused, not looked up."""
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise UserError(f"{path}: larger than {LARGEST_BYTES} bytes")
        text = path.read_text(encoding="utf-8")
        content = YAML(typ="safe", pure=True).load(text)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except YAMLError as error:
        reason = line(error)
        if "!function" in reason or "could not determine a constructor" in reason:
            raise UserError(
                f"{path}: it names Python code, which is run only with --trust-code ({reason})"
            ) from error
        raise UserError(f"{path}: not valid YAML ({reason})") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid YAML ({line(error)})") from error
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise UserError(f"{path}: not a task, which is a mapping of names to values")
    return content


def _kwargs(path: Path, task: dict[str, Any]) -> dict[str, Any]:
    kwargs = task.get("dataset_kwargs")
    if not isinstance(kwargs, dict) or "data_files" not in kwargs:
        raise UserError(f"{path}: dataset_kwargs.data_files: missing, names files in its folder")
    for key in kwargs:
        if key not in ("data_files", "field"):
            raise UserError(
                f"{path}: dataset_kwargs.{line(key, 40)}: allowed are data_files, field"
            )
    if not isinstance(kwargs.get("field", ""), str):
        raise UserError(f"{path}: dataset_kwargs.field: not text")
    return {**kwargs, "data_files": _data_files(path, kwargs["data_files"])}


def _generation(path: Path, given: Any) -> dict[str, Any]:
    """How answers are written, with nothing left for `transformers`, which can be told of code.

    Likeliest text unless the task says `do_sample`, and then by the model's own probabilities.
    """
    key = f"{path}: generation_kwargs"
    given = decode(given, dict[str, Any], key)
    for name in given:
        if name not in (*WRITING, *SAMPLING):
            allowed = ", ".join((*WRITING, *SAMPLING))
            raise UserError(f"{key}.{line(name, 40)}: allowed are {allowed}")
    sampling = decode({n: given[n] for n in SAMPLING if n in given}, Sampling, key)
    asked = {n: decode(given[n], k, f"{key}.{n}") for n, k in WRITING.items() if n in given}
    if asked.get("do_sample") and sampling.temperature > 0:
        return asked | asdict(sampling)
    return asked | {"do_sample": False}


def _data_files(path: Path, named: Any) -> Any:
    """Absolute paths, in the shape in which they were named: text, a list, or splits of either."""
    if isinstance(named, str):
        if not named or Path(named).is_absolute():
            raise UserError(f"{path}: data_files: {line(repr(named), 80)} is not in its folder")
        return str(inside(path.parent, named).resolve())
    if isinstance(named, list) and named:
        return [_data_files(path, name) for name in named]
    if isinstance(named, dict) and named:
        return {str(split): _data_files(path, name) for split, name in named.items()}
    raise UserError(f"{path}: data_files: {line(repr(named), 80)} names no file")
