"""What tells `transformers` of the tokenizer, of BOS and of the shape of a chat."""

from __future__ import annotations

import json
from typing import Any

from andrea.tokens.tokenizer import BOS, BOS_PIECE, Tokenizer

# As `andrea.corpus.formats.chat.document` has it, after BOS. A reply is asked for by its mark
# without the space, which in the model's texts is part of the word behind it.
CHAT_TEMPLATE = r"""
{%- macro quote(line) -%}
  {{- ' ' if line.lstrip(' ').startswith(('> ', '< ')) else '' -}}
  {{- line -}}
{%- endmacro -%}
{%- set last = namespace(mark='') -%}
{%- macro say(mark, text) -%}
  {%- set lines = text.split('\n') -%}
  {%- if text and mark == last.mark -%}
    {{- '\n' + quote(lines[0]) -}}
  {%- elif text -%}
    {{- ('\n' if last.mark else '') + mark + lines[0] -}}
  {%- endif -%}
  {%- for line in lines[1:] -%}
    {{- '\n' + quote(line) -}}
  {%- endfor -%}
  {%- if text -%}
    {%- set last.mark = mark -%}
  {%- endif -%}
{%- endmacro -%}
{%- macro call(function) -%}
  {%- set arguments = {} if function.arguments is none else function.arguments -%}
  {{- say('< ', '[call] ' + ({'name': function.name, 'arguments': arguments} | tojson)) -}}
{%- endmacro -%}
{{- bos_token -}}
{%- for message in messages -%}
  {%- if message.content is string -%}
    {%- set words = message.content -%}
  {%- else -%}
    {%- set parts = namespace(said=[]) -%}
    {%- for part in message.content or [] -%}
      {%- set said = part if part is string else part.refusal or part.text -%}
      {%- if said is not string -%}
        {{- raise_exception('a part of type ' ~ part.type ~ ', only text can be read') -}}
      {%- endif -%}
      {%- if said -%}
        {%- set parts.said = parts.said + [said] -%}
      {%- endif -%}
    {%- endfor -%}
    {%- set words = parts.said | join('\n') -%}
  {%- endif -%}
  {%- set words = words | replace('\r\n', '\n') | trim -%}
  {%- if message.role in ('system', 'developer', 'user') -%}
    {{- say('> ', words) -}}
  {%- elif message.role == 'assistant' -%}
    {{- say('< ', words) -}}
  {%- elif message.role == 'tool' -%}
    {{- say('> ', '[result] ' + words if words else '') -}}
  {%- else -%}
    {{- raise_exception('no role ' ~ message.role) -}}
  {%- endif -%}
  {%- for tool_call in message.tool_calls or [] -%}
    {{- call(tool_call.function) -}}
  {%- endfor -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- ('\n' if last.mark else '') + '<' -}}
{%- endif -%}
"""


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
