"""How much idle work a machine's battery and load allow."""

import psutil
import pytest

from assistant.idle import load_policy
from assistant.idle.load_policy import LoadPolicy, WorkAllowed
from assistant.settings import Idle


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_policy, "MEASURED_S", 0.001)


@pytest.mark.parametrize(
    ("settings", "battery", "busy", "allowed"),
    [
        ({}, False, 0.0, WorkAllowed.ALL),
        ({}, True, 0.0, WorkAllowed.LIGHT),
        ({"on_battery": "nothing"}, True, 0.0, WorkAllowed.NOTHING),
        ({"on_battery": "nothing"}, False, 0.0, WorkAllowed.ALL),
        ({"on_battery": "all"}, True, 0.0, WorkAllowed.ALL),
        ({}, False, 0.5, WorkAllowed.ALL),
        ({}, False, 0.7, WorkAllowed.LIGHT),
        ({}, True, 0.7, WorkAllowed.LIGHT),
        ({"on_battery": "nothing"}, True, 0.7, WorkAllowed.NOTHING),
        ({"max_load": 0.8}, False, 0.7, WorkAllowed.ALL),
        ({"max_load": 1}, False, 1.0, WorkAllowed.ALL),
        ({}, False, None, WorkAllowed.ALL),
    ],
)
async def test_battery_and_load_decide_how_much_is_done(
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, object],
    battery: bool,
    busy: float | None,
    allowed: WorkAllowed,
) -> None:
    reads = iter(range(1, 9))

    def seconds() -> tuple[float, float] | None:
        read = next(reads)
        return None if busy is None else (100 + (1 - busy) * read, 200.0 + read)

    monkeypatch.setattr(load_policy, "runs_on_battery", lambda: battery)
    monkeypatch.setattr(load_policy, "processor_seconds", seconds)
    assert await LoadPolicy(Idle.model_validate(settings)).allowed() is allowed


async def test_a_machine_that_reports_neither_battery_nor_load_allows_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = load_policy.processor_seconds()
    assert seconds is None or 0 < seconds[0] <= seconds[1]
    assert await LoadPolicy(Idle()).allowed() in (WorkAllowed.LIGHT, WorkAllowed.ALL)

    def unknown() -> None:
        raise NotImplementedError

    monkeypatch.setattr(psutil, "cpu_times", unknown)
    monkeypatch.delattr(psutil, "sensors_battery", raising=False)
    assert await LoadPolicy(Idle()).allowed() is WorkAllowed.ALL
