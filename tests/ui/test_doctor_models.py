"""The doctor's checks of the language model: why it was chosen and whether it is fast enough."""

from collections.abc import AsyncGenerator
from dataclasses import replace
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
from ui.commands.doctor.checks import CheckContext, CheckStatus, check_models, check_thinking

DEFAULT = replace(SMALL, name="default", llm=STRONG[1])
LAPTOP = Hardware(16 << 30, 4, apple_silicon=False)
CLOSE = "Close programs that keep the processor busy"
SMALLER = f"{CLOSE}, or use a smaller model: assistant --profile"
OWN = f"{CLOSE}, or choose a smaller model in the settings (llm.model)."


class TimedLlm(ScriptedLlm):
    """Takes the given times to the first and to each further token, by a clock of its own."""

    def __init__(self, first_s: float, tokens_per_s: float) -> None:
        super().__init__("Yes.")
        self._at = 0.0
        self._first_s = first_s
        self._tokens_per_s = tokens_per_s

    def perf_counter(self) -> float:
        return self._at

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        self._at += self._first_s
        yield Chunk("one")
        for _ in range(47):
            self._at += 1 / self._tokens_per_s
            yield Chunk(" more")
        yield Chunk("", Usage(40, 0, 48))


def context_of(home: Home, choice: Choice, **llm: Any) -> CheckContext:
    context = CheckContext(home, Settings.model_validate({"llm": llm}))
    store = ModelStore(home.root / "models", catalogue.read())
    context._selection = ModelSelection(store, LAPTOP, choice)
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
async def test_a_model_below_the_limits_of_the_automatic_choice_gets_a_warning(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    first_s: float,
    tokens_per_s: float,
    verdict: CheckStatus,
) -> None:
    llm = TimedLlm(first_s, tokens_per_s)
    monkeypatch.setattr(checks, "time", llm)
    context = context_of(home, choice_of(DEFAULT))
    context._models = ModelSet(ScriptedStt(), llm, ToneTts())
    finding = await check_thinking(context)
    assert finding.verdict is verdict
    assert finding.figures["tokens_per_s"] == pytest.approx(tokens_per_s, abs=0.1)
    assert finding.mend == (f"{SMALLER} small" if verdict is CheckStatus.WARNING else None)


@pytest.mark.parametrize(
    ("profile", "llm", "advice"),
    [
        (TINY, {}, f"{CLOSE}."),
        (SMALL, {}, f"{SMALLER} tiny"),
        (replace(DEFAULT, llm=SMALL.llm), {}, f"{SMALLER} tiny"),
        (DEFAULT, {}, f"{SMALLER} small"),
        (DEFAULT, {"endpoint": "http://127.0.0.1:1/v1"}, OWN),
        (SMALL, {"model": STRONG[0]}, OWN),
    ],
)
def test_the_advice_names_a_model_smaller_than_the_current_one(
    profile: Any, llm: dict[str, str], advice: str
) -> None:
    assert checks.quicker(Settings.model_validate({"llm": llm}), profile) == advice


@pytest.mark.parametrize(
    ("choice", "verdict", "mend"),
    [
        (choice_of(DEFAULT), CheckStatus.GOOD, None),
        (
            Choice(DEFAULT, "Too slow, but here.", (SMALL.llm,)),
            CheckStatus.WARNING,
            "assistant models pull",
        ),
    ],
)
async def test_the_reason_for_the_choice_is_always_given(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    choice: Choice,
    verdict: CheckStatus,
    mend: str | None,
) -> None:
    monkeypatch.setattr(ModelStore, "missing", lambda *_: [])
    monkeypatch.setattr(ModelStore, "verify", lambda *_: None)
    finding = await check_models(context_of(home, choice))
    assert (finding.verdict, finding.mend) == (verdict, mend)
    assert finding.text.startswith(f"{choice.reason} Verified to the last byte: ")


@pytest.mark.parametrize(("llm", "advised"), [({}, True), ({"model": STRONG[0]}, False)])
async def test_a_model_worth_trying_is_named_last_unless_the_settings_name_one(
    home: Home, monkeypatch: pytest.MonkeyPatch, llm: dict[str, str], advised: bool
) -> None:
    monkeypatch.setattr(ModelStore, "missing", lambda *_: [])
    monkeypatch.setattr(ModelStore, "verify", lambda *_: None)
    command = "assistant config set llm.model better"
    choice = replace(choice_of(DEFAULT), worth_trying=f"It is better: {command}")
    finding = await check_models(context_of(home, choice, **llm))

    assert finding.text.endswith(f". It is better: {command}") is advised
    assert (command in finding.text) is advised
