"""The small corpus and its tokenizer, as in `tests/tokens`."""

from tests.tokens.conftest import corpus, settings, tokenizer, tokenizer_file, write_corpus

__all__ = ["corpus", "settings", "tokenizer", "tokenizer_file", "write_corpus"]
