"""The parts of the MLX engine that need no model: grammar and stop sequences."""

import json

import llguidance
import mlx.core as mx
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from models.llm.mlx_engine import _Constraint, _Text

END = 256


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """One token for each byte, and one for the end."""
    letters = {
        letter: place for place, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))
    }
    made = Tokenizer(models.BPE(vocab=letters, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<end>"])
    return made


def said(tokenizer: Tokenizer, text: str, stop: tuple[str, ...]) -> tuple[list[str], bool]:
    reader = _Text(tokenizer, stop)
    pieces: list[str] = []
    for token in tokenizer.encode(text).ids:
        pieces.append(reader.add(token))
        if reader.stopped:
            break
    return [piece for piece in [*pieces, reader.rest()] if piece], reader.stopped


def test_letters_of_several_bytes_come_whole(tokenizer: Tokenizer) -> None:
    assert said(tokenizer, "né 🙂!", ()) == (["n", "é", " ", "🙂", "!"], False)


def test_what_may_begin_a_stop_sequence_is_held_back(tokenizer: Tokenizer) -> None:
    assert said(tokenizer, "ab</s>cd", ("</s>",)) == (["a", "b"], True)
    assert said(tokenizer, "a<</s", ("</s>",)) == (["a", "<", "</s"], False)
    assert said(tokenizer, "a</x", ("</s>", "")) == (["a", "</x"], False)
    assert said(tokenizer, "one two", ("two", "e t")) == (["o", "n"], True)


def test_a_grammar_allows_what_fits_and_then_the_end(tokenizer: Tokenizer) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"],
              "additionalProperties": False}  # fmt: skip
    vocabulary = llguidance.LLTokenizer(tokenizer.to_str(), n_vocab=260, eos_token=[END])
    grammar = llguidance.LLMatcher.grammar_from_json_schema(
        json.dumps(schema), overrides={"whitespace_flexible": False}
    )
    constraint = _Constraint(llguidance.LLMatcher(vocabulary, grammar), 260, {END})
    tokens = mx.array([5])
    text: list[int] = []
    for step in range(40):
        # A model that always prefers another token, and ends only when nothing else is left.
        logits = mx.array([[float((token * 7 + step) % 260) for token in range(260)]])
        logits[0, END] = -100.0
        token = mx.argmax(constraint(tokens, logits), axis=-1).item()
        assert isinstance(token, int)
        text.append(token)
        tokens = mx.concat([tokens, mx.array([token])])

    ends = text.index(END)
    assert json.loads(tokenizer.decode(text[:ends])).keys() == {"a"}
    assert set(text[ends:]) == {END}
