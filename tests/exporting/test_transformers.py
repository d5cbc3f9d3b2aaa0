"""The exported folder under the real library, without a network: logits, ids, text, chats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from andrea.config import tree
from andrea.corpus.formats import chat
from andrea.exporting import folder
from andrea.exporting.trained import Trained
from andrea.model.generate import generate
from andrea.model.gpt import GPT, initialise
from andrea.tokens.tokenizer import BOS, BOS_PIECE

ROOT = Path(__file__).parents[2]
CLOSE = 1e-5
pytestmark = pytest.mark.usefixtures("offline")


@pytest.fixture(scope="module")
def theirs(made: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(made)


@pytest.fixture(scope="module")
def tokenizer(made: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(made)


def difference(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """The largest of a logit, as a share of the largest logit."""
    return float((ours - theirs).abs().max() / ours.abs().max())


def test_logits_are_equal(source: Trained, theirs: Any) -> None:
    """At every length, of a stock class in fp32."""
    from transformers import GPT2LMHeadModel

    assert type(theirs) is GPT2LMHeadModel
    assert {weights.dtype for weights in theirs.parameters()} == {torch.float32}
    generator = torch.Generator().manual_seed(1)
    for length in range(1, source.scale.context + 1):
        ids = torch.randint(0, source.scale.vocabulary, (2, length), generator=generator)
        with torch.no_grad():
            assert difference(source.model(ids), theirs(ids).logits) <= CLOSE


def test_the_likeliest_text_is_equal(source: Trained, theirs: Any) -> None:
    """With the library's cache; a prompt alone and two of different lengths, filled up left."""
    prompts = [np.array([BOS, 62, 32, 257]), np.array([BOS, 100])]
    ours = generate(source.model, prompts, 12, 0.0, 0, (0,))
    ids = torch.tensor([[*prompts[0]], [BOS, BOS, *prompts[1]]])
    mask = torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]])
    written = theirs.generate(
        ids, attention_mask=mask, max_new_tokens=12, do_sample=False, eos_token_id=-1
    )[:, 4:].numpy()
    assert np.array_equal(written, ours)
    without = theirs.generate(
        ids[:1], attention_mask=mask[:1], max_new_tokens=12, do_sample=False, eos_token_id=-1,
        use_cache=False,
    )[:, 4:].numpy()  # fmt: skip
    assert np.array_equal(without, ours[:1])


def test_bos_ends_a_text(theirs: Any) -> None:
    config = theirs.generation_config
    assert (config.bos_token_id, config.eos_token_id, config.pad_token_id) == (BOS, BOS, BOS)


@given(text=st.text())
def test_ids_are_equal(source: Trained, tokenizer: Any, text: str) -> None:
    ours = source.tokenizer.encode(text).tolist()
    assert tokenizer(text, add_special_tokens=False)["input_ids"] == ours
    assert tokenizer(text)["input_ids"] == [BOS, *ours]
    assert tokenizer.decode(ours) == text
    assert tokenizer.decode([BOS, *ours, BOS], skip_special_tokens=True) == text


def test_ids_of_every_byte(source: Trained, tokenizer: Any) -> None:
    """All of one-byte text and of what begins longer characters."""
    for text in (
        bytes(range(128)).decode(),
        "".join(map(chr, range(128, 0x3000))),
        "𐍈🦊\U0010ffff",
    ):
        ours = source.tokenizer.encode(text).tolist()
        assert tokenizer(text, add_special_tokens=False)["input_ids"] == ours
    assert set(tokenizer(text)) == {
        "input_ids",
        "attention_mask",
    }  # no token types: GPT-2 adds them


def test_the_word_for_bos_is_the_only_text_that_differs(source: Trained, tokenizer: Any) -> None:
    """The library looks for special tokens in text, unless it is told to split them."""
    text = f"a{BOS_PIECE}b"
    assert tokenizer(text, add_special_tokens=False)["input_ids"] == [97, BOS, 98]
    split = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert split == source.tokenizer.encode(text).tolist()


words = st.text(st.sampled_from("ab <>\n\té"), max_size=12)
messages = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["system", "user", "assistant", "tool", "developer"]),
            "content": words
            | st.none()
            | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": words}), max_size=3),
        }
    ),
    min_size=1,
    max_size=6,
)


@given(conversation=messages)
def test_the_template_writes_what_training_read(
    tokenizer: Any, conversation: list[dict[str, Any]]
) -> None:
    text = chat.document({"messages": conversation}, "text")
    assert tokenizer.apply_chat_template(conversation, tokenize=False) == BOS_PIECE + text
    asked = tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)
    assert asked == BOS_PIECE + (text + "\n<" if text else "<")


def test_calls_of_tools_in_the_template(tokenizer: Any) -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": {"x": "ü", "y": [1, None]}}}
    conversation = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call, call]},
        {"role": "tool", "content": "3"},
    ]
    text = chat.document({"messages": conversation}, "text")
    assert tokenizer.apply_chat_template(conversation, tokenize=False) == BOS_PIECE + text
    ids = tokenizer.apply_chat_template(conversation)["input_ids"]
    assert ids[0] == BOS
    assert BOS not in ids[1:]


def test_the_template_refuses_what_it_cannot_say(tokenizer: Any) -> None:
    from jinja2 import TemplateError

    for message in (
        {"role": "robot", "content": "x"},
        {"role": "user", "content": [{"type": "image"}]},
    ):
        with pytest.raises(TemplateError, match=r"no role robot|type image, only text"):
            tokenizer.apply_chat_template([message], tokenize=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laptop", "andrea-12m", "andrea-120m"])
def test_logits_of_the_shipped_scales(name: str, source: Trained, tmp_path: Path) -> None:
    """There, and read back by us."""
    from transformers import GPT2LMHeadModel

    from andrea.exporting import stock

    scale = tree.load(ROOT / "params.yaml").scales[name]
    model = GPT(scale)
    initialise(model, 3)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for weights in model.parameters():
            if not weights.any():
                weights.normal_(0, 0.02, generator=generator)
    folder.write(tmp_path / "m", model, source.tokenizer, "")
    theirs = GPT2LMHeadModel.from_pretrained(tmp_path / "m")
    ids = torch.randint(0, scale.vocabulary, (1, scale.context), generator=generator)
    again = GPT(scale)
    with torch.no_grad():
        for place, weights in stock.weights(stock.tensors(model, scale), scale):
            again.get_parameter(place).copy_(weights)
        ours = model(ids)
        assert difference(ours, theirs(ids).logits) <= CLOSE
        assert difference(ours, again(ids)) <= CLOSE
