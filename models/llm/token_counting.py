"""Counts tokens exactly, where possible without asking the engine.

A GGUF file contains its vocabulary, merges and template. From these, this module builds a tiktoken
`Encoding` and a Jinja template. They count a prompt exactly, in this process, in microseconds.
Other kinds of vocabulary (SentencePiece, WordPiece) have no tiktoken form. For those,
`vocabulary_from` returns None, and the caller asks the engine.

`tokenizer.ggml.pre` names the regular expression that splits text into words. The expressions are
the published ones of each tokenizer, as llama.cpp applies them.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NoReturn, Protocol

import httpx
import tiktoken
from jinja2 import TemplateError
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from assistant.errors import ModelFailed
from models.interfaces import Message
from models.llm.gguf import Header
from models.llm.special_tokens import engine_messages, without_special_tokens

_CONTRACTIONS = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_GPT2 = (
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"  # OpenAI GPT-2
)
_SMOLLM = (
    # First splits off single digits, then splits the text between them as GPT-2 does. Whitespace
    # before a digit ends such a text, so it is not split.
    r"\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"
)
_AFTER_WORDS = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + _AFTER_WORDS
_QWEN2 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + _AFTER_WORDS
_QWEN35 = (
    _CONTRACTIONS
    + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    + r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_AFTER_CASED = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT4O = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTIONS}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTIONS}?|\p{{N}}{{1,3}}|" + _AFTER_CASED
)
_TEKKEN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*|\p{{N}}|"
    + _AFTER_CASED
)

SPLITS: Mapping[str, str] = {
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo"), _GPT2),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell"), _SMOLLM),
    **dict.fromkeys(("llama3", "llama-v3", "llama-bpe", "falcon3", "dbrx", "smaug-bpe"), _LLAMA3),
    **dict.fromkeys(("qwen2", "stablelm2", "deepseek-r1-qwen"), _QWEN2),
    "qwen35": _QWEN35,
    **dict.fromkeys(("gpt-4o", "llama4"), _GPT4O),
    "tekken": _TEKKEN,
}
"""Regular expressions that split text into words, by the value of `tokenizer.ggml.pre`."""

_CONTROL, _USER_DEFINED = 3, 4
_BOS_BY_DEFAULT = frozenset({"llama3", "llama-v3", "llama-bpe", "falcon3", "tekken"})

NO_THINKING = {"enable_thinking": False}
"""Arguments of chat templates that switch thinking off, if the template supports that."""

PROBE = (
    "It's 3:07 p.m. on 2024-11-05, and I'll say: \"naïve café\" — 漢字, дом, 🙂!\n\n"
    "def f(x_1):\n\tif x_1 >= 10_000:\n        return {'a': [1, 22, 333, 4444]}  # ok?\r\n   \n"
)
"""A text with every class of character that tokenizers split differently."""


class TokenCounter(Protocol):
    """Counts tokens as the engine does."""

    def count(self, text: str) -> int: ...

    def count_messages(self, messages: Sequence[Message]) -> int: ...


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What is needed to count the tokens of a text.

    Attributes:
        count_plain: counts the tokens of a text that has no special tokens.
        special: tokens that are cut out of a rendered prompt. Each counts as one.
        literal: user-defined tokens, which are cut out of any text. Each counts as one.
        adds_bos: whether the engine puts the token `bos` before a prompt.
    """

    count_plain: Callable[[str], int]
    special: frozenset[str]
    literal: frozenset[str]
    adds_bos: bool = False
    bos: str = ""
    eos: str = ""


def vocabulary_from(header: Header) -> Vocabulary | None:
    """Return the vocabulary of a GGUF file; None if tiktoken can't express this kind of
    vocabulary."""
    values = header.values
    pre = str(values.get("tokenizer.ggml.pre", ""))
    tokens: list[str] = values.get("tokenizer.ggml.tokens", [])
    kinds: list[int] = values.get("tokenizer.ggml.token_type", [1] * len(tokens))
    if values.get("tokenizer.ggml.model") != "gpt2" or pre not in SPLITS:
        return None
    if not tokens or len(tokens) != len(kinds):
        return None
    special = frozenset(
        token
        for token, kind in zip(tokens, kinds, strict=True)
        if token and kind in {_CONTROL, _USER_DEFINED}
    )
    literal = frozenset(
        token for token, kind in zip(tokens, kinds, strict=True) if token and kind == _USER_DEFINED
    )
    encoding = tiktoken.Encoding(
        "gguf",
        pat_str=SPLITS[pre],
        mergeable_ranks=_ranks(values.get("tokenizer.ggml.merges", [])),
        special_tokens={},
    )

    def named(role: str) -> str:
        index = values.get(f"tokenizer.ggml.{role}_token_id")
        return tokens[index] if index is not None and index < len(tokens) else ""

    return Vocabulary(
        count_plain=lambda text: len(encoding.encode_ordinary(text)),
        special=special,
        literal=literal,
        adds_bos=bool(values.get("tokenizer.ggml.add_bos_token", pre in _BOS_BY_DEFAULT)),
        bos=named("bos"),
        eos=named("eos"),
    )


def _ranks(merges: Sequence[str]) -> dict[bytes, int]:
    """Return the place of each byte sequence in the merge order, which determines a BPE encoding.

    The numbers are positions in the list of merges, not the model's token ids. The ids need not
    follow that order, and only the number of tokens matters here.
    """
    alphabet = _byte_alphabet()
    ranks = {bytes([byte]): byte for byte in alphabet.values()}
    for merge in merges:
        left, _, right = merge.partition(" ")
        try:
            joined = bytes([alphabet[letter] for letter in left + right])
        except KeyError:
            continue  # a merge of added tokens: their text is outside the byte alphabet
        ranks.setdefault(joined, len(ranks))
    return ranks


def _byte_alphabet() -> dict[str, int]:
    """Return the byte that each printable letter of GPT-2's byte alphabet stands for.

    Printable bytes are their own letters. The other bytes are mapped to letters from U+0100 on.
    """
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {chr(byte): byte for byte in own}
    others = [byte for byte in range(256) if byte not in set(own)]
    return letters | {chr(0x100 + place): byte for place, byte in enumerate(others)}


class _Sandbox(ImmutableSandboxedEnvironment):
    """A sandbox that lets templates read attributes of a loop without slow checks.

    Templates do that for every message, to find out whether it is the first or last one.
    """

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, LoopContext) and not attr.startswith("_"):
            return True
        return super().is_safe_attribute(obj, attr, value)


class ChatTemplate:
    """A model's own Jinja template, run in a sandbox."""

    def __init__(self, source: str, *, bos: str, eos: str) -> None:
        """Parse the template.

        Args:
            bos: the model's begin token, for use in the template.
            eos: the model's end token, for use in the template.

        Raises:
            ModelFailed: the template can't be parsed.
        """
        environment = _Sandbox(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = partial(json.dumps, ensure_ascii=False)
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: (
            datetime.now().astimezone().strftime(form)
        )
        self._special = {"bos_token": bos, "eos_token": eos}
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ModelFailed(f"The model's chat template can't be read: {error}.") from error

    def render(self, messages: Sequence[Message]) -> str:
        """Return the prompt that the model reads, including the opening of the answer.

        Raises:
            ModelFailed: the template refuses these messages, e.g. because of the order of their
                roles.
        """
        try:
            return self._template.render(
                messages=engine_messages(messages),
                add_generation_prompt=True,
                enable_thinking=False,
                **self._special,
            )
        except TemplateError as error:
            raise ModelFailed(f"The chat template refuses the messages: {error}.") from error


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


class VocabularyCounter:
    """Counts tokens in this process.

    The counts are cached by a hash of the text, so that the cache contains no user text.
    """

    def __init__(self, vocabulary: Vocabulary, template: ChatTemplate) -> None:
        self._vocabulary = vocabulary
        self._template = template
        self._split_special = _splitter(vocabulary.special)
        self._split_literal = _splitter(vocabulary.literal)
        self._known = CountCache()

    def count(self, text: str) -> int:
        return self._sum(self._split_literal(without_special_tokens(text)))

    def count_messages(self, messages: Sequence[Message]) -> int:
        prompt = self._template.render(messages)
        vocabulary = self._vocabulary
        if vocabulary.adds_bos:
            prompt = prompt.removeprefix(vocabulary.bos)
        return int(vocabulary.adds_bos) + self._sum(self._split_special(prompt))

    def _sum(self, pieces: list[str]) -> int:
        """Count the tokens of a text that has been cut at special tokens.

        Every second piece is a special token, which counts as one.
        """
        count = self._vocabulary.count_plain
        return len(pieces) // 2 + sum(self._known.get(text, count) for text in pieces[::2])


class CountCache:
    """Caches token counts by a hash of the text, so that the cache never holds a text that has
    to be forgotten.

    Python's string hash has 64 bits and a random key per process. Together with the length of the
    text, it distinguishes all texts of a conversation in practice.
    """

    def __init__(self, size: int = 4096) -> None:
        self._size = size
        self._counts: dict[tuple[int, int], int] = {}

    def get(self, text: str, count: Callable[[str], int]) -> int:
        """Return the cached count of `text`, or else the result of `count(text)`.

        Thread-safe. At worst, a text is counted twice.
        """
        if not text:
            return 0
        key = (hash(text), len(text))
        known = self._counts.get(key)
        if known is None:
            known = count(text)
            if len(self._counts) >= self._size:
                self._counts.clear()
            self._counts[key] = known
        return known


class EngineCounter:
    """Counts tokens by asking the engine, for vocabularies that tiktoken can't express.

    Blocking: on the same machine, a request takes about a millisecond.

    Args:
        client: bound to the address of a llama.cpp server; `close` closes it.
    """

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._texts = CountCache()
        self._prompts = CountCache()

    def count(self, text: str) -> int:
        return self._texts.get(
            text, lambda text: self._tokenize(without_special_tokens(text), prompt=False)
        )

    def count_messages(self, messages: Sequence[Message]) -> int:
        body = {"messages": engine_messages(messages), "chat_template_kwargs": NO_THINKING}
        prompt = self._post("/apply-template", body)["prompt"]
        return self._prompts.get(prompt, lambda text: self._tokenize(text, prompt=True))

    def close(self) -> None:
        self._client.close()

    def _tokenize(self, text: str, *, prompt: bool) -> int:
        body = {"content": text, "add_special": prompt, "parse_special": prompt}
        return len(self._post("/tokenize", body)["tokens"])

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            reply = self._client.post(path, json=body)
            reply.raise_for_status()
        except (httpx.HTTPError, RuntimeError) as error:  # RuntimeError: the client is closed
            raise ModelFailed(f"The language model did not count its tokens: {error}.") from error
        found: dict[str, Any] = reply.json()
        return found


def _splitter(words: frozenset[str]) -> Callable[[str], list[str]]:
    """Return a function that splits a text at any of `words`, trying the longest word first.

    The resulting list alternates between text and word, and begins and ends with a text.
    """
    if not words:
        return lambda text: [text]
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first))})").split


def agree(ours: TokenCounter, engine: TokenCounter) -> bool:
    """Return whether both counters agree on a text with all kinds of characters.

    They are compared on the text alone and on conversations that contain it.

    Raises:
        ModelFailed: the engine does not count at all.
    """
    if engine.count(PROBE) != ours.count(PROBE):
        return False
    user = Message("user", PROBE)
    conversation = [Message("system", PROBE), user, Message("assistant", "Yes."), user]
    return all(
        _count_or_refusal(ours, messages) == _count_or_refusal(engine, messages)
        for messages in ([user], conversation)
    )


def _count_or_refusal(counter: TokenCounter, messages: Sequence[Message]) -> int | None:
    """Return the token count; None if the template refuses the messages.

    Some templates refuse system messages, for example.
    """
    try:
        return counter.count_messages(messages)
    except ModelFailed:
        return None
