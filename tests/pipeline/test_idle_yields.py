"""Idle work stops at the first window of a voice, before anything is made of it; asleep too."""

from pathlib import Path

import numpy as np
import pytest

from assistant.events import Event, Phase, SpeechIgnored, TurnStarted, UserSensed
from assistant.idle.quiet import Quiet
from assistant.memory.transcript import Transcript
from tests.support.fakes import ScriptedLlm, ScriptedStt, silence, speech
from tests.support.idling import Bench, FakeWork, running
from tests.support.session import session

SOUND = np.concatenate([silence(0.5), speech(0.8), silence(0.6)])


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
    assert seen[sure][1] == seen[first][1] + 1  # 0.13 s later it had long stopped
    kind = SpeechIgnored if asleep else TurnStarted
    assert any(isinstance(event, kind) for event, *_ in seen[sure:])


async def test_a_typed_line_is_a_sign_too(tmp_path: Path) -> None:
    async with session(ScriptedStt(), ScriptedLlm("Hi."), silence(0.2), tmp_path) as talk:
        quiet = Quiet(Phase.LISTENING)
        talk.bus.subscribe(quiet.watch)
        signs: list[bool] = []
        quiet.on_sign(lambda: signs.append(quiet.now))
        await talk.loop.say("Hello?")
        await talk.to_the_end()
        assert signs
        assert not signs[0]
        assert [turn.user for turn in talk.turns] == ["Hello?"]
