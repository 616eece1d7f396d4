"""Events are converted to JSON and back."""

import json
from datetime import UTC, datetime

import pytest

from assistant.errors import StoreError
from assistant.events import (
    Event,
    ForgettingBegan,
    ForgettingDone,
    IdleWork,
    Latency,
    MemoryUsed,
    Notice,
    Phase,
    PhaseChanged,
    PromptBuilt,
    PromptSection,
    Recalled,
    Searched,
    Severity,
    TurnEnded,
)
from assistant.ipc import event_json

SAID = datetime(2026, 5, 1, 12, 30, 0, 5, tzinfo=UTC)
MEMORY = MemoryUsed(
    "m1", "A dog — “Max” 🐕", 0.5, said=SAID, parts=(("meaning", 0.3),), words=("dog",), near=False
)
EVENTS: list[Event] = [
    PhaseChanged(Phase.ASLEEP),
    Notice("Unplugged.", Severity.ERROR, "assistant devices"),
    Recalled(3, (MEMORY,), missed=True),
    PromptBuilt(3, (PromptSection("system", "You are\nAda", 7),), 8000, (("m1", "over budget"),)),
    TurnEnded(3, "hi", "there", True, Latency(1.5, None, 2.5), (MEMORY,), 120, 30, None),
    ForgettingBegan("f1", ("e1",), ("m1", "m2"), SAID),
    ForgettingDone("f1", 2, 9, False, (Searched("logs", 2, 0, 9, ("a.log",)),), ("Not all.",)),
    IdleWork("describe", 12),
    IdleWork(None, 0),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_survives_json(event: Event) -> None:
    row = json.loads(json.dumps(event_json.event_to_json(event)))
    assert event_json.event_from_json(row) == event


def test_every_event_has_a_json_form() -> None:
    assert set(event_json._adapters()) == {kind.__name__ for kind in Event.__subclasses__()}


@pytest.mark.parametrize(
    "row",
    [{}, {"type": "Unheard"}, {"type": "TurnHeard"}, {"type": "TurnHeard", "turn": "x", "text": 1}],
)
def test_a_row_that_is_not_an_event_is_refused(row: dict[str, object]) -> None:
    with pytest.raises(StoreError, match=r"that this version (knows|can read)"):
        event_json.event_from_json(row)
