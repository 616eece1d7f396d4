"""Runs mlx-lm: turns prompts into tokens and tokens into text, with a KV cache for each lane.

The engine must be created and used on one thread. Import this module only if MLX is installed.
"""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import llguidance
import mlx.core as mx
import numpy as np
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask
from mlx_lm.generate import generate_step
from mlx_lm.models.cache import can_trim_prompt_cache, make_prompt_cache, trim_prompt_cache
from mlx_lm.sample_utils import make_sampler
from mlx_lm.utils import load_model, maybe_set_recommended_wired_limit
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from assistant.errors import ModelError, ModelFailed
from models.interfaces import Chunk, Generation, Lane, Usage
from models.llm.token_counting import (
    ChatTemplate,
    TokenCounter,
    Vocabulary,
    VocabularyCounter,
    agree,
)

PREFILL_TOKENS = 256
"""Number of prompt tokens read between two checks for cancellation."""
TOP_P, TOP_K, MIN_P = 0.95, 40, 0.05
"""Sampling parameters. They are llama.cpp's defaults, so that both engines write alike."""


class _Stopped(Exception):
    """The request was cancelled while its prompt was being read."""


@dataclass(slots=True)
class _LaneCache:
    """A lane's KV cache, and the tokens in it."""

    cache: list[Any]
    tokens: list[int] = field(default_factory=list)


class MlxEngine:
    def __init__(self, folder: Path) -> None:
        """Load the model.

        Raises:
            ModelFailed: the model is not made for chat.
            Exception: mlx-lm or tokenizers can't load a file. The exception may be of any type.
        """
        self._model, config = load_model(folder)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer_config = _read(folder / "tokenizer_config.json")
        maybe_set_recommended_wired_limit()  # keeps weights in memory; no effect on a CPU
        self._eos = self._end_tokens(folder, config)
        self._grammar_vocabulary: llguidance.LLTokenizer | None = None
        self._vocabulary_size = max(
            int(config.get("vocab_size", 0)), self._tokenizer.get_vocab_size()
        )
        self._template = self._read_template(folder)
        self._kept = {lane: _LaneCache(make_prompt_cache(self._model)) for lane in Lane}
        self.context_tokens = int(config.get("max_position_embeddings") or 1 << 31)
        self.counter = self._choose_counter()

    def generate(
        self, request: Generation, context_tokens: int, goes_on: Callable[[], bool]
    ) -> Generator[Chunk]:
        """Generate an answer, and yield it in pieces.

        If `goes_on` returns False, the generator ends at once, without yielding the usage.

        Raises:
            ModelFailed: the messages are longer than `context_tokens`, the JSON schema can't be
                used, or mlx-lm failed.
        """
        try:
            yield from self._generate(request, context_tokens, goes_on)
        except ModelError:
            raise
        except _Stopped:
            return
        except Exception as error:
            raise ModelFailed(f"The language model failed: {error}.") from error

    def _generate(
        self, request: Generation, context_tokens: int, goes_on: Callable[[], bool]
    ) -> Generator[Chunk]:
        prompt = self.encode(self._template.render(request.messages))
        room = context_tokens - len(prompt)
        if room < 1:
            raise ModelFailed(
                f"The conversation ({len(prompt)} tokens) is longer than the model can hold "
                f"({context_tokens} tokens)."
            )
        kept = self._kept[request.lane]
        cached = self._rewind(kept, prompt)
        text = DecodeStream(skip_special_tokens=True)
        generated = 0
        with closing(self._tokens(kept, prompt, request, room, goes_on)) as tokens:
            for token in takewhile(lambda token: token not in self._eos, tokens):
                generated += 1
                if piece := text.step(self._tokenizer, token):
                    yield Chunk(piece)
                if not goes_on():
                    return
        yield Chunk("", Usage(len(prompt) - cached, cached, generated))

    def encode(self, text: str) -> list[int]:
        tokens: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return tokens

    def _rewind(self, kept: _LaneCache, prompt: list[int]) -> int:
        """Cut the cache to the tokens that it has in common with the start of `prompt`.

        At least one token of the prompt is left to read. Returns the number of tokens in the cache.
        """
        pairs = zip(kept.tokens, prompt, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        same = min(same, len(prompt) - 1)
        surplus = len(kept.tokens) - same
        if surplus and can_trim_prompt_cache(kept.cache):
            trim_prompt_cache(kept.cache, surplus)
        elif surplus:
            kept.cache = make_prompt_cache(self._model)
            same = 0
        kept.tokens = prompt[:same]
        return same

    def _tokens(
        self,
        kept: _LaneCache,
        prompt: list[int],
        request: Generation,
        room: int,
        goes_on: Callable[[], bool],
    ) -> Generator[int]:
        """Yield the generated tokens one by one.

        `kept.tokens` is always equal to the cache's contents, because mlx-lm feeds each token to
        the model before it yields that token.
        """
        new = prompt[len(kept.tokens) :]
        before = list(kept.tokens)

        def progress(done: int, _total: int) -> None:
            kept.tokens = before + new[:done]
            if done < len(new) and not goes_on():
                raise _Stopped

        steps = generate_step(
            mx.array(new),
            self._model,
            max_tokens=min(request.max_tokens, room),
            sampler=make_sampler(request.temperature, top_p=TOP_P, min_p=MIN_P, top_k=TOP_K),
            logits_processors=self._constraints(request.json_schema),
            prompt_cache=kept.cache,
            prefill_step_size=PREFILL_TOKENS,
            prompt_progress_callback=progress,
        )
        try:
            with closing(steps):
                for step in steps:
                    token = int(step[0])
                    kept.tokens.append(token)
                    yield token
        except (GeneratorExit, _Stopped):
            raise
        except BaseException:
            kept.cache, kept.tokens = make_prompt_cache(self._model), []
            raise

    def _constraints(
        self, schema: Mapping[str, Any] | None
    ) -> list[Callable[[mx.array, mx.array], mx.array]] | None:
        if schema is None:
            return None
        if self._grammar_vocabulary is None:
            self._grammar_vocabulary = llguidance.LLTokenizer(
                self._tokenizer.to_str(), n_vocab=self._vocabulary_size, eos_token=sorted(self._eos)
            )
        grammar = llguidance.LLMatcher.grammar_from_json_schema(
            json.dumps(schema), overrides={"whitespace_flexible": False}
        )
        matcher = llguidance.LLMatcher(self._grammar_vocabulary, grammar)
        if matcher.is_error():
            raise ModelFailed(f"This JSON schema can't be used: {matcher.get_error()}.")
        return [_Constraint(matcher, self._vocabulary_size, self._eos)]

    def _end_tokens(self, folder: Path, config: Mapping[str, Any]) -> set[int]:
        found = [self._tokenizer.token_to_id(_token(self._tokenizer_config, "eos_token"))]
        for source in (config, _read(folder / "generation_config.json", optional=True)):
            named = source.get("eos_token_id")
            found += named if isinstance(named, list) else [named]
        return {token for token in found if token is not None}

    def _read_template(self, folder: Path) -> ChatTemplate:
        beside = folder / "chat_template.jinja"
        source = self._tokenizer_config.get("chat_template")
        if beside.is_file():
            source = beside.read_text(encoding="utf-8")
        if not isinstance(source, str):
            raise ModelFailed(f"The model in {folder} is not made for chat: it has no template.")
        return ChatTemplate(
            source,
            bos=_token(self._tokenizer_config, "bos_token"),
            eos=_token(self._tokenizer_config, "eos_token"),
        )

    def _choose_counter(self) -> TokenCounter:
        """Return the fastest exact token counter.

        Counting the texts between special tokens is faster than counting whole prompts. It is exact
        only if no token spans a special token, so this is checked first.
        """
        special = frozenset(
            token.content for token in self._tokenizer.get_added_tokens_decoder().values()
        )
        in_parts, whole = (
            VocabularyCounter(
                Vocabulary(lambda text: len(self.encode(text)), special=cut_out, literal=cut_out),
                self._template,
            )
            for cut_out in (special, frozenset[str]())
        )
        return in_parts if agree(in_parts, whole) else whole


class _Constraint:
    """A logits processor that rules out all tokens that the grammar does not allow."""

    def __init__(self, matcher: llguidance.LLMatcher, vocabulary_size: int, end: set[int]) -> None:
        self._matcher = matcher
        self._mask = allocate_token_bitmask(1, vocabulary_size)
        self._end = np.isin(np.arange(vocabulary_size), sorted(end))[np.newaxis]
        self._begun = False

    def __call__(self, tokens: mx.array, logits: mx.array) -> mx.array:
        """Return the logits, with -inf for the tokens that are not allowed.

        Args:
            tokens: all tokens so far, shape (n,).
            logits: shape (1, vocabulary).
        """
        if self._begun and not self._matcher.is_stopped():
            newest: Any = tokens[-1].item()
            self._matcher.consume_token(newest)
        self._begun = True
        allowed = mx.array(self._allowed()[:, : logits.shape[-1]])
        return mx.where(allowed, logits, mx.array(-mx.inf, dtype=logits.dtype))

    def _allowed(self) -> NDArray[np.bool_]:
        """Return whether each token is allowed, shape (1, vocabulary or a little more)."""
        if self._matcher.is_stopped():
            return self._end
        fill_next_token_bitmask(self._matcher, self._mask)
        bits = np.unpackbits(self._mask.view(np.uint8), axis=1, bitorder="little")
        return bits.astype(np.bool_)


def _token(config: Mapping[str, Any], role: str) -> str:
    """Return the token named by `role`, such as `eos_token`; "" if there is none.

    In some files, the token is wrapped in an object.
    """
    named = config.get(role)
    return str(named.get("content", "") if isinstance(named, dict) else named or "")


def _read(path: Path, *, optional: bool = False) -> dict[str, Any]:
    if optional and not path.is_file():
        return {}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
