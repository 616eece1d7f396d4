"""The grammar that constrains the MLX engine, without a model."""

import json

import llguidance
import mlx.core as mx
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

END = 256


def byte_tokenizer() -> Tokenizer:
    """One token for each byte, and one for the end."""
    letters = {
        letter: place for place, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))
    }
    made = Tokenizer(models.BPE(vocab=letters, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<end>"])
    return made


def test_a_grammar_allows_only_matching_tokens_and_then_the_end() -> None:
    from models.llm.mlx_engine import _Constraint  # imports torch; no other test waits for it

    tokenizer = byte_tokenizer()
    schema = {
        "type": "object",
        "properties": {"a": {"type": "boolean"}},
        "required": ["a"],
        "additionalProperties": False,
    }
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
