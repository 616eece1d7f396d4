"""Vocabularies, templates and counts, tested with a hand-written GGUF header.

tests/real/test_token_counts.py compares the counts with those of a real engine.
"""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import regex

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing
from models.interfaces import Message
from models.llm.gguf import Header, read_header
from models.llm.token_counting import (
    SPLITS,
    ChatTemplate,
    CountCache,
    Vocabulary,
    VocabularyCounter,
    agree,
    vocabulary_from,
)
from tests.support.in_ram import held

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<|im_start|>", "<|im_end|>"]
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld"]
VALUES: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.block_count": 30,
    "llama.context_length": 8192,
    "llama.embedding_length": 576,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": [3, 2],
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": [*SPECIAL, "<tool>", "hello", "Ġworld"],
    "tokenizer.ggml.token_type": [3, 3, 4, 1, 1],
    "tokenizer.ggml.merges": MERGES,
    "tokenizer.ggml.bos_token_id": 0,
    "tokenizer.ggml.eos_token_id": 1,
    "tokenizer.chat_template": CHATML,
}


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf(values: Mapping[str, Any], version: int = 3) -> bytes:
    """A GGUF file without tensors: strings, 32-bit numbers, flags, and lists of them."""

    def encoded(value: Any) -> tuple[int, bytes]:
        match value:
            case bool():
                return 7, struct.pack("<?", value)
            case int():
                return 4, struct.pack("<I", value)
            case float():
                return 6, struct.pack("<f", value)
            case str():
                return 8, text(value)
            case _:
                kinds, items = zip(*map(encoded, value), strict=True)
                return 9, struct.pack("<IQ", kinds[0], len(items)) + b"".join(items)

    body = b"GGUF" + struct.pack("<IQQ", version, 0, len(values))
    for key, value in values.items():
        kind, content = encoded(value)
        body += text(key) + struct.pack("<I", kind) + content
    return body


def header(**changes: Any) -> Header:
    renamed = {key.replace("__", "."): value for key, value in changes.items()}
    return Header(VALUES | renamed, 0)


def counter(**changes: Any) -> VocabularyCounter:
    known = header(**changes)
    vocabulary = vocabulary_from(known)
    assert vocabulary is not None
    source = known.values["tokenizer.chat_template"]
    return VocabularyCounter(
        vocabulary, ChatTemplate(source, bos=vocabulary.bos, eos=vocabulary.eos)
    )


def test_every_kind_of_header_value_is_read(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    values = VALUES | {"a.flag": True, "a.number": 0.5, "a.lists": [[1, 2], [3]]}
    file.write_bytes(gguf(values))
    found = read_header(file)

    assert found.values == values
    assert found.file_bytes == file.stat().st_size
    assert found.architecture == "llama"
    assert found.context_tokens == 8192
    assert found.kv_bytes_per_token == 2 * 30 * 3 * (64 + 64)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a GGUF model file"),
        (b"<html>nothing here</html>", "not a GGUF model file"),
        (b"GGUF", "is damaged"),
        (gguf(VALUES)[:200], "is damaged"),
        (gguf(VALUES)[:-5], "is damaged"),
        (gguf({"a": [1, 2, 3]})[:-5], "is damaged"),
        (gguf({}, version=9), "unknown GGUF version"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", 99), "is damaged"),
    ],
)
def test_a_damaged_or_missing_file_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    with pytest.raises(ModelCorrupt, match=said) as caught:
        read_header(file)
    assert str(file) in str(caught.value)
    assert caught.value.mend
    for absent in (tmp_path / "none.gguf", tmp_path):
        with pytest.raises(ModelMissing, match="no model file at"):
            read_header(absent)


def test_a_bos_token_is_counted_once() -> None:
    plain = counter().count_messages([Message("user", "hello")])
    with_bos = counter(tokenizer__ggml__add_bos_token=True)
    written = counter(
        tokenizer__ggml__add_bos_token=True, tokenizer__chat_template="{{ bos_token }}" + CHATML
    )
    same_token = counter(tokenizer__ggml__add_bos_token=True, tokenizer__ggml__bos_token_id=2)

    assert written.count_messages([Message("user", "hello")]) == plain + 1
    assert same_token.count_messages([Message("user", "hello")]) == plain + 1
    # CHATML begins with this header's BOS token, so the engine doesn't add another.
    assert with_bos.count_messages([Message("user", "hello")]) == plain


@pytest.mark.parametrize(
    "changes",
    [{"tokenizer__ggml__model": "llama"}, {"tokenizer__ggml__pre": "something-new"}],
)
def test_other_kinds_of_vocabulary_are_left_to_the_engine(changes: dict[str, str]) -> None:
    assert vocabulary_from(header(**changes)) is None


SAMPLE = "I'll  pay\tДом 1234 x_1!\r\n\n  end  "
PIECES = {
    "gpt-2": ["I", "'ll", " ", " pay", "\t", "Дом", " 1234", " x", "_", "1", "!", "\r\n\n ", " end",
              "  "],
    "smollm": ["I", "'ll", " ", " pay", "\t", "Дом", " ", "1", "2", "3", "4", " x", "_", "1", "!",
               "\r\n\n ", " end", "  "],
    "qwen2": ["I", "'ll", " ", " pay", "\tДом", " ", "1", "2", "3", "4", " x", "_", "1", "!\r\n\n",
              " ", " end", "  "],
    "llama-bpe": ["I", "'ll", " ", " pay", "\tДом", " ", "123", "4", " x", "_", "1", "!\r\n\n", " ",
                  " end", "  "],
    "gpt-4o": ["I'll", " ", " pay", "\tДом", " ", "123", "4", " x", "_", "1", "!\r\n\n", " ",
               " end", "  "],
    "tekken": ["I", "'ll", " ", " pay", "\tДом", " ", "1", "2", "3", "4", " x", "_", "1", "!\r\n\n",
               " ", " end", "  "],
}  # fmt: skip


@pytest.mark.parametrize("kind", PIECES)
def test_text_is_split_as_each_tokenizer_splits_it(kind: str) -> None:
    assert regex.findall(SPLITS[kind], SAMPLE) == PIECES[kind]


@pytest.mark.parametrize("kind", sorted(SPLITS))
def test_every_split_keeps_every_letter(kind: str) -> None:
    assert "".join(regex.findall(SPLITS[kind], SAMPLE)) == SAMPLE
    assert counter(tokenizer__ggml__pre=kind).count("hello") == 1


def test_a_template_can_use_the_usual_functions_of_chat_templates() -> None:
    source = """
    {%- for message in messages %}
        {%- if loop.first %}{{ bos_token }}{% endif %}
        {%- if message.role == 'none' %}{% continue %}{% endif %}
        {{- {'it\\'s': 'ü<'} | tojson }}
    {%- endfor %}
    {{- eos_token }}{{ strftime_now('%Y')[:2] }}
    {%- if enable_thinking is defined and enable_thinking is false %}no{% endif %}"""
    template = ChatTemplate(source, bos="<s>", eos="</s>")

    assert template.render([Message("user", "hi")]) == '<s>{"it\'s": "ü<"}</s>20no'


def test_a_template_that_refuses_or_does_not_parse_raises_an_error() -> None:
    refuses = ChatTemplate("{{ raise_exception('no system role') }}", bos="", eos="")
    with pytest.raises(ModelFailed, match="no system role"):
        refuses.render([Message("system", "hi")])
    with pytest.raises(ModelFailed, match="can't be read"):
        ChatTemplate("{% if %}", bos="", eos="")


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.__class__.__mro__ }}",
        "{% for each in messages %}{{ loop._iterator.__class__.__mro__ }}{% endfor %}",
        "{% for each in messages %}{{ loop.cycle.__func__.__globals__ }}{% endfor %}",
        "{% for each in messages %}{{ messages.append(loop) }}{% endfor %}",
    ],
)
def test_a_template_runs_in_a_sandbox(source: str) -> None:
    template = ChatTemplate(source, bos="", eos="")
    with pytest.raises(ModelFailed, match="refuses"):
        template.render([Message("user", "hi")])


def test_the_cache_counts_each_text_once_and_stores_no_words() -> None:
    asked: list[str] = []

    def length(words: str) -> int:
        asked.append(words)
        return len(words)

    cache = CountCache(size=2)
    counts = [cache.get(words, length) for words in ("secret", "secret", "", "other")]

    assert counts == [6, 6, 0, 5]
    assert asked == ["secret", "other"]
    assert b"secret" not in held(cache)
    assert cache.get("third", length) == 5
    assert len(cache._counts) == 1


class Fixed:
    """A counter that adds `more` tokens to the count of a real one, or refuses a role."""

    def __init__(self, real: VocabularyCounter, more: int = 0, refuses: str = "") -> None:
        self.real, self.more, self.refuses = real, more, refuses

    def count(self, words: str) -> int:
        return self.real.count(words)

    def count_messages(self, messages: Sequence[Message]) -> int:
        if any(each.role == self.refuses for each in messages):
            raise ModelFailed("no")
        return self.real.count_messages(messages) + self.more


def test_counters_agree_only_if_they_count_and_refuse_alike() -> None:
    known = counter()

    assert agree(known, Fixed(known))
    assert not agree(known, Fixed(known, more=1))
    assert not agree(known, Fixed(known, refuses="system"))
    assert agree(Fixed(known, refuses="system"), Fixed(known, refuses="system"))
    assert not agree(counter(tokenizer__ggml__merges=[]), known)


def test_a_vocabulary_without_special_tokens_can_count() -> None:
    vocabulary = Vocabulary(len, frozenset(), frozenset())
    known = VocabularyCounter(vocabulary, ChatTemplate(CHATML, bos="", eos=""))

    assert known.count("abc") == 3
