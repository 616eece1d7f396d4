"""The voice benchmark's conversations with a form open."""

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assistant.context import Conversation, ShortTermMemory
from assistant.event_bus import EventBus
from assistant.paths import Home
from assistant.settings import Settings
from assistant.skills import Activities
from assistant.voice import Dialogue, Ringing, VoiceControl
from assistant.voice.latency import LatencyLog
from scripts.bench.voice import with_form
from scripts.bench.voice.ablation import Variant
from scripts.bench.voice.labels import Clip
from scripts.bench.voice.listening import Outcome
from scripts.bench.voice.ours import Ours, Parts
from scripts.common.session_skills import session_skills
from tests.support.fakes import ScriptedLlm
from tests.support.slot_reader import MarkedReader

CLIP = Clip("x.wav", np.zeros(1, np.int16), 1.0, "x", finished=True)


async def test_the_prompt_shows_a_form_that_is_half_filled(tmp_path: Path) -> None:
    settings, bus, llm, home = Settings(), EventBus(), ScriptedLlm(), Home(tmp_path).create()
    async with AsyncExitStack() as stack:
        window = ShortTermMemory(Conversation.begin("me"), llm, settings, None, bus.emit)
        dialogue = Dialogue(settings, bus, llm, window, LatencyLog(home.ledger))
        common = home, settings, bus, dialogue, window, llm, VoiceControl(speed=1.0)
        ringer = Ringing(dialogue, speaks=False)
        skills = await session_skills(*common, ringer, MarkedReader(), stack, with_form.half_filled)
        [open_form] = [each for each in skills if isinstance(each, Activities)]
        prompt = "\n".join(each.content for each in window.prompt("Hello there.").messages)

    assert open_form.listens
    assert "reason: a cough that keeps me awake;" in prompt
    assert "Ask next: Are you allergic to anything?" in prompt


class Noting(Ours):
    """Notes the parts of each conversation, and hears nothing."""

    def __init__(self, home: Home) -> None:
        super().__init__(home, Settings())
        self.had: list[Parts] = []

    async def hear(self, clip: Clip) -> Outcome:
        self.had.append(self.parts)
        if clip.name == "broken":
            raise TimeoutError("not listened to")
        return Outcome(None, (), {})


async def test_a_variant_has_its_parts_only_while_it_hears(tmp_path: Path) -> None:
    ours = Noting(Home(tmp_path))
    own, other = ours.parts, Parts(left_open=with_form.half_filled)
    variant = Variant("with", ours, other)

    await variant.hear(CLIP)
    assert ours.parts is own
    with pytest.raises(TimeoutError):
        await variant.hear(replace(CLIP, name="broken"))
    assert ours.parts is own
    await ours.hear(CLIP)
    assert ours.had == [other, other, own]
