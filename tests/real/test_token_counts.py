"""Token counts by the model's own vocabulary and template equal those of the engine."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from assistant.errors import ModelFailed
from models.interfaces import Generation, Message
from models.llm.gguf import read_header
from models.llm.llama import LlamaCpp
from models.llm.token_counting import EngineCounter, VocabularyCounter, vocabulary_from
from tests.support.language import STORY, SYSTEM, collect, tiny_gguf

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

ENGLISH = """The lamp was lit at 6:45 p.m., as it had been every evening since 1887. "It isn't
much," the keeper's daughter said, "but it's ours — nobody'll take it away." Rain came in from the
south-west; by midnight the café on the quay had lost its sign, three chairs, and £1,250 worth of
glass. They'd seen worse. In 1953 the sea had climbed the stairs to the second floor.

  * What would you take with you?
  * The logbook, I think; the photographs; my naïve hopes.
"""
CODE = '''
import re
from dataclasses import dataclass, field

@dataclass(frozen=True)
class Ship:
    """A ship that passed, e.g. `Ship("Résolue", 14_500)`."""
    name: str
    tonnes: int = 0
    flags: list[str] = field(default_factory=list)

    def __lt__(self, other: "Ship") -> bool:
        return (self.tonnes, self.name) < (other.tonnes, other.name)

def passed(lines, *, minimum=1000):
\tfor n, line in enumerate(lines):
\t\tif (m := re.match(r"^(\\w+)\\s*[:=]\\s*(\\d{1,9})$", line)) is not None:
\t\t\tif int(m[2]) >= minimum and not n % 2:   # every other one
\t\t\t\tyield {"name": m[1], "tonnes": int(m[2]), "x": 0xDEADBEEF, "y": 1.5e-10}


// and then: for (int i = 0; i < 100000; ++i) { sum += a[i] * b[i]; }
'''
ODD = "  \n\n\t 漢字とかな 🙂🏳️‍🌈 дом नमस्ते 12345 a1b22c333 x  5   y\r\n <|im_end|> it'll IT'LL  "


@pytest.fixture(scope="module")
def path() -> Path:
    return tiny_gguf()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def llm(path: Path) -> AsyncIterator[LlamaCpp]:
    model = LlamaCpp(path, context_tokens=4096)
    await model.load()
    yield model
    await model.close()


@pytest.mark.parametrize("text", [ENGLISH, CODE, ODD, "", " ", "x" * 20_000, "\n" * 300])
async def test_tokens_of_a_text_are_counted_as_by_the_engine(llm: LlamaCpp, text: str) -> None:
    engine = llm._engine_counter
    assert isinstance(engine, EngineCounter)
    assert isinstance(llm._counter, VocabularyCounter)
    assert llm.count(text) == engine.count(text)


@pytest.mark.parametrize(
    "messages",
    [
        [Message("user", "Hi.")],
        STORY,
        [
            SYSTEM,
            Message("user", ENGLISH[-120:]),
            Message("assistant", CODE[:60]),
            Message("user", ODD),
        ],
        [Message("user", "a"), Message("user", "b"), Message("system", "c"), Message("user", "")],
    ],
)
async def test_tokens_of_messages_are_counted_as_the_engine_reads_them(
    llm: LlamaCpp, messages: Sequence[Message]
) -> None:
    _, usage = await collect(llm, Generation(messages, max_tokens=0))
    assert llm.count_messages(messages) == usage.prompt_tokens
    assert llm._engine_counter is not None
    assert llm._engine_counter.count_messages(messages) == usage.prompt_tokens


async def test_the_engine_counts_tokens_if_the_kind_of_vocabulary_is_unknown(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.llm.token_counting.SPLITS", {})
    assert vocabulary_from(read_header(path)) is None
    llm = LlamaCpp(path, context_tokens=512)
    with pytest.raises(ModelFailed, match="not loaded yet"):
        llm.count(ENGLISH)
    await llm.load()
    try:
        assert isinstance(llm._counter, EngineCounter)
        assert llm.count(ENGLISH) > 100
        _, usage = await collect(llm, Generation(STORY, max_tokens=1))
        assert llm.count_messages(STORY) == usage.prompt_tokens
    finally:
        await llm.close()
