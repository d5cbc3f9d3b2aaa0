"""Numbers of lm-eval on tiny local tasks, against those computed directly from our logits."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_eval.api.instance import Instance

from andrea.common.errors import UserError
from andrea.exporting import harness
from andrea.exporting.trained import Trained
from andrea.model.generate import generate
from andrea.tokens.tokenizer import BOS, BOS_PIECE

pytestmark = pytest.mark.usefixtures("offline")

QUESTIONS = [
    {"question": "the river is", "choices": ["the", "a river", "\u00e9"], "answer": 0},
    {"question": "> who", "choices": ["me", "the river"], "answer": 1},
    {"question": "x" * 40, "choices": ["a", "b"], "answer": 1},
]
TEXTS = [{"text": f"the river {BOS_PIECE} runs"}, {"text": "the \u00e9 river. " * 9}, {"text": "a"}]
CHOICE = """
task: rivers
dataset_path: json
dataset_kwargs: {data_files: {test: rivers.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: "{{choices}}"
doc_to_target: answer
metric_list: [{metric: acc}, {metric: acc_norm}]
"""
PROSE = """
task: prose
dataset_path: json
dataset_kwargs: {data_files: {test: prose.jsonl}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{text}}"
metric_list: [{metric: word_perplexity}, {metric: byte_perplexity}, {metric: bits_per_byte}]
"""


def jsonl(rows: Sequence[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rivers.yaml").write_text(CHOICE)
    (tmp_path / "prose.yml").write_text(PROSE)
    (tmp_path / "rivers.jsonl").write_text(jsonl(QUESTIONS))
    (tmp_path / "prose.jsonl").write_text(jsonl(TEXTS))
    return tmp_path


@pytest.fixture(scope="module")
def reader(source: Trained) -> harness.Reader:
    return harness.Reader(source.model, source.tokenizer, rows=2)


def nats(source: Trained, before: list[int], after: list[int]) -> float:
    """Of a continuation, from the logits of one row that holds nothing else."""
    context = source.scale.context
    ids = (before + after)[-context - 1 :]
    with torch.no_grad():
        logits = source.model(torch.tensor([ids[:-1]]))[0].double()
    logs = torch.log_softmax(logits, -1)
    first = len(ids) - len(after)
    return sum(float(logs[place - 1, ids[place]]) for place in range(first, len(ids)))


def encode(source: Trained, text: str) -> list[int]:
    return [int(token) for token in source.tokenizer.encode(text)]


def rolling(source: Trained, text: str) -> float:
    """Windows of a context, each begun by the token before it."""
    ids, context = [BOS, *encode(source, text)], source.scale.context
    total = nats(source, ids[:1], ids[1 : context + 1])
    done = min(context, len(ids) - 1)
    while done < len(ids) - 1:
        end = min(done + context, len(ids) - 1)
        # The last window reaches back so far that it is full.
        first = max(end - context, 0)
        total += nats(source, ids[first : done + 1], ids[done + 1 : end + 1])
        done = end
    return total


def test_the_numbers_are_those_of_our_logits(
    reader: harness.Reader, source: Trained, folder: Path
) -> None:
    right = right_by_length = 0
    for doc in QUESTIONS:
        start = [BOS, *encode(source, doc["question"])]
        scores = []
        for choice in doc["choices"]:
            whole = [BOS, *encode(source, f"{doc['question']} {choice}")]
            scores.append(nats(source, start, whole[len(start) :]))
        by_length = [s / len(c) for s, c in zip(scores, doc["choices"], strict=True)]
        right += scores.index(max(scores)) == doc["answer"]
        right_by_length += by_length.index(max(by_length)) == doc["answer"]
    total = sum(rolling(source, doc["text"]) for doc in TEXTS)
    size_bytes = sum(len(doc["text"].encode()) for doc in TEXTS)
    words = sum(len(doc["text"].split(" ")) for doc in TEXTS)
    found = harness.evaluate(reader, folder, None, trust_code=False)
    assert found["rivers"] == {
        "acc": pytest.approx(right / 3), "acc_norm": pytest.approx(right_by_length / 3)
    }  # fmt: skip
    assert found["prose"]["bits_per_byte"] == pytest.approx(-total / size_bytes / math.log(2))
    assert found["prose"]["byte_perplexity"] == pytest.approx(math.exp(-total / size_bytes))
    assert found["prose"]["word_perplexity"] == pytest.approx(math.exp(-total / words), rel=0.2)


def asked(kind: Any, *arguments: Any) -> Instance:
    return Instance(kind, {}, arguments, 0)


texts = st.text(st.sampled_from("the riverx> \né"), max_size=30)


@settings(max_examples=25, deadline=None)
@given(pairs=st.lists(st.tuples(texts, texts.filter(lambda t: 0 < len(t) < 5)), max_size=5))
def test_likelihoods_do_not_depend_on_the_batch(
    reader: harness.Reader, source: Trained, pairs: list[tuple[str, str]]
) -> None:
    found = reader.loglikelihood(
        [asked("loglikelihood", *pair) for pair in pairs], disable_tqdm=True
    )
    for (before, after), (value, likeliest) in zip(pairs, found, strict=True):
        kept = before.rstrip()
        start = [BOS, *encode(source, kept)]
        whole = [BOS, *encode(source, before + after)]
        if before:
            assert value == pytest.approx(nats(source, start, whole[len(start) :]), abs=1e-5)
        assert isinstance(likeliest, bool)


def test_the_likeliest_continuation_is_called_so(reader: harness.Reader, source: Trained) -> None:
    start = [BOS, *encode(source, "the")]
    (best,) = generate(source.model, [torch.tensor(start).numpy()], 1, 0.0, 0, (0,))[0]
    for token in (int(best), (int(best) + 1) % 256):
        pair = (None, start, [token])
        ((_, likeliest),) = reader._loglikelihood_tokens([pair])
        assert likeliest == (token == best)


def test_a_continuation_longer_than_the_context(reader: harness.Reader) -> None:
    with pytest.raises(UserError, match="a continuation of 20 tokens, the context has 16"):
        reader.loglikelihood([asked("loglikelihood", "", "x" * 20)], disable_tqdm=True)


def test_text_up_to_a_mark(reader: harness.Reader, source: Trained) -> None:
    """As our own generator writes it, cut at the first mark; a long prompt loses its start."""
    prompts = ["the river", "> a", "x" * 60]
    written = []
    for prompt in prompts:
        ids = [BOS, *encode(source, prompt)][-10:]
        (row,) = generate(source.model, [torch.tensor(ids).numpy()], 6, 0.0, 0, (0,))
        kept = row[: list(row).index(BOS)] if BOS in row else row
        written.append(source.tokenizer.decode(kept))
    ask = {"until": [], "max_gen_toks": 6}
    found = reader.generate_until([asked("generate_until", p, ask) for p in prompts])
    assert found == written
    mark = written[0][2]
    cut = reader.generate_until([asked("generate_until", prompts[0], ask | {"until": [mark]})])
    assert cut == [written[0].split(mark)[0]]


ANSWER = """
task: answers
dataset_path: json
dataset_kwargs: {data_files: {test: rivers.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "the"
generation_kwargs: {KWARGS}
metric_list: [{metric: exact_match}]
"""


def test_windows_that_repeat_are_scored_by_themselves(
    reader: harness.Reader, source: Trained
) -> None:
    """The library's own cache of logits mistakes one for another."""
    text = "the \u00e9 river. " * 9
    for start in ("", "a", "ab"):
        found = reader.loglikelihood_rolling([asked("loglikelihood_rolling", start + text)])
        assert found == [pytest.approx(rolling(source, start + text), abs=1e-3)]


def with_answers(folder: Path, kwargs: str) -> Path:
    (folder / "prose.yml").unlink(missing_ok=True)
    (folder / "rivers.yaml").write_text(ANSWER.replace("KWARGS", kwargs))
    return folder


def test_answers_are_drawn_as_a_task_says(
    reader: harness.Reader, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the model's own probabilities unless the task narrows them, from one seed."""
    asked_for: list[dict[str, Any]] = []
    answers: list[list[str]] = []
    generate_until = harness.Reader.generate_until

    def watched(self: harness.Reader, requests: list[Instance], **more: Any) -> list[str]:
        asked_for.append(requests[0].args[1])
        answers.append(generate_until(self, requests, **more))
        return answers[-1]

    monkeypatch.setattr(harness.Reader, "generate_until", watched)
    for kwargs in ("do_sample: true, top_k: 40", "do_sample: true, top_k: 40", "temperature: 2"):
        asking = with_answers(folder, "max_gen_toks: 8, until: [x], " + kwargs)
        harness.evaluate(reader, asking, None, trust_code=False)
    own = {"temperature": 1.0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
    length = {"max_gen_toks": 8, "until": ["x"]}
    assert asked_for[0] == length | own | {"do_sample": True, "top_k": 40}
    assert asked_for[2] == length | {"do_sample": False}
    assert answers[0] == answers[1] != answers[2]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ("num_beams: 3", "generation_kwargs.num_beams: allowed are until, max_gen_toks, do_"),
        ("custom_generate: evil", "generation_kwargs.custom_generate: allowed are until, max"),
        ("trust_remote_code: true", "generation_kwargs.trust_remote_code: allowed are until"),
        ("temperature: -1", "generation_kwargs.temperature: -1 is not allowed, must be 0 or more"),
        ("max_gen_toks: x", "generation_kwargs.max_gen_toks: 'x' is not a whole number"),
        ("max_gen_toks: 16", "must be less than model's maximum sequence length (16)"),
        ("until: 3", "generation_kwargs.until: 3 is not text"),
    ],
)
def test_a_wrong_way_to_answer_is_told(
    reader: harness.Reader, folder: Path, kwargs: str, message: str
) -> None:
    assert message in told(reader, with_answers(folder, kwargs))


def test_an_answer_without_a_length_leaves_room_for_the_question(
    reader: harness.Reader, folder: Path
) -> None:
    found = harness.evaluate(reader, with_answers(folder, "until: x"), None, trust_code=False)
    assert found["answers"] == {"exact_match": 0.0}


def told(reader: harness.Reader, folder: Path) -> str:
    with pytest.raises(UserError) as error:
        harness.evaluate(reader, folder, None, trust_code=False)
    text = str(error.value)
    assert text.isprintable()
    assert text.startswith(str(folder))
    return text.removeprefix(str(folder)).removeprefix("/")


EVIL = "import pathlib\npathlib.Path({!r}).touch()\ndef f(*_): return 'the river'\n"
REACH = "{{{{ cycler.__init__.__globals__.os.system('touch {}') }}}}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('doc_to_text: "{{question}}"', "doc_to_text: !function evil.f"),
        ("test_split: test", "test_split: test\nprocess_docs: !function evil.f"),
        ("test_split: test", "test_split: test\nclass: !function evil.f"),
        ("test_split: test", "test_split: test\ninclude: other.yaml"),
        ("test_split: test", "test_split: test\nuse_prompt: evil.yaml"),
        ("test_split: test", "test_split: test\ncustom_dataset: evil.f"),
        ("test_split: test", "test_split: !!python/object/apply:os.system [touch ran]"),
        ("metric: acc_norm", "metric: ./evil.py"),
        ("metric: acc_norm", "metric: acc, hf_evaluate: true"),
        ("metric: acc_norm", "metric: !function evil.f"),
        ("dataset_path: json", "dataset_path: pandas"),
        ("dataset_path: json", "dataset_path: evil.py"),
        ("{test: rivers.jsonl}}", "{test: rivers.jsonl}, trust_remote_code: true}"),
        ("test: rivers.jsonl", "test: ../rivers.jsonl"),
        ("test: rivers.jsonl", "test: /etc/passwd"),
        ("test: rivers.jsonl", "test: https://example.org/x.jsonl"),
        ('doc_to_text: "{{question}}"', "doc_to_text: >-\n  REACH"),
    ],
)
def test_a_folder_that_is_not_trusted_runs_nothing(
    reader: harness.Reader, folder: Path, old: str, new: str
) -> None:
    marker = folder / "ran"
    (folder / "evil.py").write_text(EVIL.format(str(marker)))
    (folder / "other.yaml.txt").write_text(CHOICE)
    (folder / "prose.yml").unlink()
    assert old in CHOICE
    reach = REACH.format(marker)
    (folder / "rivers.yaml").write_text(CHOICE.replace(old, new.replace("REACH", reach)))
    said = told(reader, folder)
    assert not marker.exists()
    assert said.startswith(("rivers.yaml: ", ": a task cannot be run (")) or "missing" in said


def test_a_folder_that_is_trusted_may(reader: harness.Reader, folder: Path) -> None:
    marker = folder / "ran"
    (folder / "evil.py").write_text(EVIL.format(str(marker)))
    text = CHOICE.replace('doc_to_text: "{{question}}"', "doc_to_text: !function evil.f")
    (folder / "rivers.yaml").write_text(text)
    assert "--trust-code" in told(reader, folder)
    found = harness.evaluate(reader, folder, None, trust_code=True)
    assert marker.exists()
    assert set(found) == {"rivers", "prose"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a task, which is a mapping"),
        ("- a", "not a task, which is a mapping"),
        ("a: [", "not valid YAML ("),
        ("task: x", "dataset_path: None is not one of json, csv"),
        (CHOICE.replace("rivers\n", "\n", 1), "task: missing"),
        (CHOICE.replace("rivers.jsonl", "absent.jsonl"), "absent.jsonl: missing"),
        (CHOICE.replace("multiple_choice", "poetry"), "output_type: 'poetry' is not one of"),
        (CHOICE.replace("test_split: test", "test_split: none"), "not a task that can be run ("),
        (CHOICE.replace("{{question}}", "{{absent}}"), ": not a task that can be run ("),
        (CHOICE + "\nmystery: 3", "'mystery' is not read from a folder that is not trusted"),
    ],
)
def test_a_wrong_task_is_told(
    reader: harness.Reader, folder: Path, text: str, message: str
) -> None:
    (folder / "prose.yml").unlink()
    (folder / "rivers.yaml").write_text(text)
    assert message in told(reader, folder)


@pytest.mark.parametrize(
    "template",
    [
        "{{ question * 10**9 }}",
        "{{ 10**9 * question }}",
        "{{ 9**999999999 }}",
        "{{ '%999999999d' % 1 }}",
        "{{ question.ljust(10**9) }}",
        "{{ question | center(10**9) }}",
    ],
)
def test_a_template_cannot_fill_the_memory(
    reader: harness.Reader, folder: Path, template: str
) -> None:
    text = CHOICE.replace("{{question}}", template)
    (folder / "rivers.yaml").write_text(text)
    assert told(reader, folder).startswith("rivers.yaml: not a task that can be run (")


def test_a_template_may_compute(reader: harness.Reader, folder: Path) -> None:
    (folder / "prose.yml").unlink()
    text = CHOICE.replace("{{question}}", "{{ 3 * 4 }} {{ 2**10 }} {{ 7 % 4 }} {{question}}")
    (folder / "rivers.yaml").write_text(text)
    assert "rivers" in harness.evaluate(reader, folder, None, trust_code=False)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "not a task that can be run ("),
        (jsonl([*QUESTIONS, {**QUESTIONS[0], "answer": 7}]), "document 4: answer 7 of 3 choices"),
        (jsonl([{**QUESTIONS[0], "answer": 7}]), "IndexError('list index out of range')"),
        (jsonl(QUESTIONS) + "{", "not a task that can be run ("),
    ],
)
def test_wrong_data_name_the_task(
    reader: harness.Reader, folder: Path, data: str, message: str
) -> None:
    (folder / "rivers.jsonl").write_text(data)
    said = told(reader, folder)
    assert said.startswith("rivers.yaml: ")
    assert message in said


def test_a_folder_without_tasks(reader: harness.Reader, tmp_path: Path) -> None:
    assert told(reader, tmp_path) == ": no task in it, such as task.yaml"
    assert told(reader, tmp_path / "absent") == ": no such folder of tasks"
