"""Idle work stops at the first audio window with a voice, before a turn begins, even if asleep."""

from pathlib import Path

import numpy as np
import pytest

from assistant.events import Event, SpeechIgnored, TurnStarted, UserSensed
from assistant.memory.transcript.database import Transcript
from tests.support.fakes import ScriptedLlm, ScriptedStt, silence, speech
from tests.support.idling import Bench, FakeWork, running
from tests.support.session import session

SOUND = np.concatenate([silence(0.3), speech(0.5), silence(0.4)])


@pytest.mark.parametrize("asleep", [False, True])
async def test_idle_work_has_stopped_before_a_turn_begins(tmp_path: Path, asleep: bool) -> None:
    work = FakeWork(subjects=["a"], holds=True)
    seen: list[tuple[Event, int, bool]] = []
    transcript = Transcript.open(tmp_path / "idle.sqlite3")
    async with session(ScriptedStt("Hello?"), ScriptedLlm("Hi."), SOUND, tmp_path) as talk:
        bench = Bench(transcript, [work], bus=talk.bus)
        bench.bus.subscribe(lambda event: seen.append((event, work.cancelled, bench.quiet.now)))
        async with running(bench):
            await work.busy.wait()
            if asleep:
                talk.dialogue.sleep()
            await talk.to_the_end()
    transcript.close()
    first = next(at for at, (event, *_) in enumerate(seen) if event == UserSensed())
    sure = next(at for at, (event, *_) in enumerate(seen) if event == UserSensed(sure=True))
    assert first < sure
    assert not seen[first][2]
    assert seen[sure][1] == seen[first][1] + 1  # 0.13 s later the work had long stopped
    kind = SpeechIgnored if asleep else TurnStarted
    assert any(isinstance(event, kind) for event, *_ in seen[sure:])
