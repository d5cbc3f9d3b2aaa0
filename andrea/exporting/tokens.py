"""What tells `transformers` of the tokenizer, of BOS and of the shape of a chat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from andrea.tokens.tokenizer import BOS, BOS_PIECE, Tokenizer

# As `andrea.corpus.formats.chat.document` has it, after BOS. A reply is asked for by its mark
# without the space, which in the model's texts is part of the word behind it.
CHAT_TEMPLATE = Path(__file__).with_name("chat.jinja").read_text(encoding="utf-8")


def tokenizer_file(tokenizer: Tokenizer) -> dict[str, Any]:
    """`tokenizer.json`: ours, and BOS before a text where special tokens are asked for."""
    made: dict[str, Any] = json.loads(tokenizer.library.to_str())
    first, text, more = (
        {"SpecialToken": {"id": BOS_PIECE, "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}},
    )  # fmt: skip
    made["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [first, text],
        "pair": [first, text, more],
        "special_tokens": {BOS_PIECE: {"id": BOS_PIECE, "ids": [BOS], "tokens": [BOS_PIECE]}},
    }
    return made


def tokenizer_config(context: int) -> dict[str, Any]:
    """`tokenizer_config.json`: BOS begins and ends a text and fills up; texts stay as they are."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS_PIECE,
        "eos_token": BOS_PIECE,
        "pad_token": BOS_PIECE,
        "padding_side": "left",
        "model_input_names": ["input_ids", "attention_mask"],  # GPT-2 would embed token types
        "clean_up_tokenization_spaces": False,
        "model_max_length": context,
    }


def generation_config() -> dict[str, Any]:
    """`generation_config.json`: BOS, which stands between documents, ends a text."""
    return {"bos_token_id": BOS, "eos_token_id": BOS, "pad_token_id": BOS, "do_sample": True}
