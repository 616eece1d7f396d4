"""The doctor on the language model: why it was chosen, and whether it is fast enough."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assistant.paths import Home
from assistant.settings import Settings
from models import catalogue
from models.download.cache import ModelStore
from models.hardware import Hardware
from models.interfaces import Chunk, Generation, ModelSet, Usage
from models.selection.profiles import SMALL, STRONG, TINY, Choice
from models.selection.requested import ModelSelection
from tests.support.fakes import ScriptedLlm, ScriptedStt, ToneTts
from ui.commands.doctor import checks
from ui.commands.doctor.checks import (
    CheckContext,
    CheckStatus,
    check_models,
    check_thinking,
    quicker,
)

DEFAULT = replace(SMALL, name="default", llm=STRONG[1])
DEFAULT_SMALL = replace(SMALL, name="default")
LAPTOP = Hardware(16 << 30, 4, apple_silicon=False)
CLOSE = "Close programs that keep the processor busy"


class Clock:
    """Stands still but for what the model takes."""

    def __init__(self) -> None:
        self.at = 0.0

    def perf_counter(self) -> float:
        return self.at


class TimedLlm(ScriptedLlm):
    """Takes so long to its first token, and so long for each further one."""

    def __init__(self, clock: Clock, first_s: float, tokens_per_s: float) -> None:
        super().__init__("Yes.")
        self._clock = clock
        self._first_s = first_s
        self._tokens_per_s = tokens_per_s

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        self._clock.at += self._first_s
        yield Chunk("one")
        for _ in range(47):
            self._clock.at += 1 / self._tokens_per_s
            yield Chunk(" more")
        yield Chunk("", Usage(40, 0, 48))


def context_of(home: Home, place: Path, choice: Choice, **settings: Any) -> CheckContext:
    context = CheckContext(home, Settings.model_validate(settings))
    context._selection = ModelSelection(ModelStore(place, catalogue.read()), LAPTOP, choice)
    return context


def choice_of(profile: Any) -> Choice:
    return Choice(profile, f"{profile.llm}: why.", (profile.llm,))


@pytest.mark.parametrize(
    ("first_s", "tokens_per_s", "verdict"),
    [
        (0.2, 30.0, CheckStatus.GOOD),
        (1.8, 9.0, CheckStatus.GOOD),
        (0.2, 4.9, CheckStatus.WARNING),
        (3.5, 9.0, CheckStatus.WARNING),
    ],
)
async def test_the_limits_are_those_of_the_choice(
    home: Home,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first_s: float,
    tokens_per_s: float,
    verdict: CheckStatus,
) -> None:
    clock = Clock()
    monkeypatch.setattr(checks, "time", clock)
    context = context_of(home, tmp_path, choice_of(DEFAULT))
    context._models = ModelSet(ScriptedStt(), TimedLlm(clock, first_s, tokens_per_s), ToneTts())

    finding = await check_thinking(context)

    assert finding.verdict is verdict
    assert finding.figures["tokens_per_s"] == pytest.approx(tokens_per_s, abs=0.1)
    if verdict is CheckStatus.WARNING:
        assert finding.mend == f"{CLOSE}, or use a smaller model: assistant --profile small"


@pytest.mark.parametrize(
    ("profile", "settings", "advice"),
    [
        (TINY, {}, "."),
        (SMALL, {}, ", or use a smaller model: assistant --profile tiny"),
        (
            replace(DEFAULT, llm=SMALL.llm),
            {},
            ", or use a smaller model: assistant --profile tiny",
        ),
        (DEFAULT, {}, ", or use a smaller model: assistant --profile small"),
        (
            DEFAULT,
            {"endpoint": "http://127.0.0.1:1/v1"},
            ", or choose a smaller model in the settings (llm.model).",
        ),
        (SMALL, {"model": STRONG[0]}, ", or choose a smaller model in the settings (llm.model)."),
    ],
)
def test_the_advice_names_a_model_that_is_smaller_than_this_one(
    profile: Any, settings: dict[str, str], advice: str
) -> None:
    assert quicker(Settings.model_validate({"llm": settings}), profile) == CLOSE + advice


async def test_the_reason_of_the_choice_is_always_told(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModelStore, "missing", lambda *_: [])
    monkeypatch.setattr(ModelStore, "verify", lambda *_: None)
    fitting = await check_models(context_of(home, tmp_path, choice_of(DEFAULT)))
    absent = Choice(DEFAULT, "Too slow, but here.", (SMALL.llm,))
    lacking = await check_models(context_of(home, tmp_path, absent))

    assert (fitting.verdict, fitting.mend) == (CheckStatus.GOOD, None)
    assert fitting.text.startswith(f"{STRONG[1]}: why. Verified to the last byte: ")
    assert (lacking.verdict, lacking.mend) == (CheckStatus.WARNING, "assistant models pull")
    assert lacking.text.startswith("Too slow, but here.")
