"""Every kind of command that is only likely is asked about in the running voice loop."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.events import Remarked, TurnEnded
from assistant.intents.command import BY_MEANING, Command, CommandKind, Intent
from assistant.intents.intent_recogniser import IntentRecogniser, Recognised
from assistant.memory import HiddenItems
from tests.pipeline.test_barge_in import LONG, count_then
from tests.pipeline.test_spoken_commands import say
from tests.support.fakes import ScriptedLlm, ScriptedStt, ToneTts, silence, sound
from tests.support.forgetting import Bench, bench
from tests.support.session import Session, session

HINT = "Perhaps something of that kind."
"""What the recogniser takes for a likely command."""
CODE = "My locker code is 4471."
GONE = "Forgotten: "
SHALL_FORGET = "Shall I forget "
THINGS = "That's 2 things: "


@dataclass(frozen=True, slots=True)
class Expected:
    """A likely command, and how the question, the reply to yes and the reply to no begin."""

    question: str
    yes: str = GONE
    no: str = "All right, I won't forget anything."
    words: str | None = None
    minutes: int | None = None


KINDS: Mapping[CommandKind, Expected] = {
    CommandKind.REPEAT: Expected("Do you want me to say that again?", "It is noon.", "All right."),
    CommandKind.SLEEP: Expected("Shall I stop listening?", "Good night.", "All right."),
    CommandKind.FORGET_THAT: Expected("Shall I forget this: your locker code is 4471?"),
    CommandKind.FORGET_SPAN: Expected("Shall I forget this: your locker", minutes=10),
    CommandKind.FORGET_TODAY: Expected("Shall I forget this: your locker"),
    CommandKind.FORGET_PERIOD: Expected("Shall I forget what was said today?", words="today"),
    CommandKind.FORGET_CONVERSATION: Expected("Shall I forget this conversation?"),
    CommandKind.FORGET_ABOUT: Expected(
        "Shall I forget what you told me about your locker?", words="my locker"
    ),
    CommandKind.FORGET_ALL: Expected("That's everything I know about you: "),
    CommandKind.UNDO: Expected("Shall I bring back what I forgot last?", "Brought back: ", "All"),
    CommandKind.KNOW: Expected(
        "Do you want to know what I remember about your locker?",
        "I remember one thing about your locker: your locker code is 4471.",
        "All right.",
        "my locker",
    ),
    CommandKind.WHY: Expected(
        "Do you want to know why I said that?", "That was the language model's reply", "All right."
    ),
    CommandKind.WHEN_TOLD: Expected(
        "Do you want to know when you told me about your locker?",
        "That was a moment ago: your locker code is 4471.",
        "All right.",
        "my locker",
    ),
    CommandKind.OFF_RECORD: Expected("Shall I go off the record?", "Off the record.", "All right."),
    CommandKind.ON_RECORD: Expected(
        "Shall I go back on the record?", "Back on the record.", "All right."
    ),
    CommandKind.REMEMBER: Expected(
        "Shall I remember that your bike is red?",
        "I'll remember that your bike is red.",
        "All right.",
        "my bike is red",
    ),
    CommandKind.CORRECT: Expected(
        "Shall I note that your locker code is 4472 instead?",
        "Got it: your locker code is 4472",
        "All right, I'll leave it as it is.",
        "my locker code is 4472",
    ),
    CommandKind.LIFT: Expected(
        "Shall I drop your instruction “always answer in one sentence”?",
        "All right, I'll no longer answer in one sentence.",
        "All right, I'll carry on as before.",
        "one sentence",
    ),
}


def hint_at(command: Command, monkeypatch: pytest.MonkeyPatch, hint: str = HINT) -> None:
    """Let `hint` be a likely command, whatever the thresholds are."""
    recognise = IntentRecogniser.recognise

    async def recognised(
        self: IntentRecogniser,
        text: str,
        names: tuple[str, ...] = (),
        expected: Collection[CommandKind] = (),
    ) -> Recognised:
        known = await recognise(self, text, names, expected)
        return Recognised(Intent(command, sure=False)) if text == hint else known

    monkeypatch.setattr(IntentRecogniser, "recognise", recognised)


@asynccontextmanager
async def likely(
    kind: CommandKind, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Session, Bench]]:
    """A session with a memory, in which `HINT` is a likely command of this kind."""
    expected = KINDS.get(kind, Expected(""))
    hint_at(Command(kind, expected.words, expected.minutes), monkeypatch)
    parts = (ScriptedStt("-"), ScriptedLlm(*["It is noon."] * 9), silence(0.2), folder)
    (folder / "memory").mkdir()
    async with bench(folder / "memory") as here:
        if kind is CommandKind.LIFT:
            await here.tell_all("Always answer in one sentence.")
        await here.tell_all(CODE)
        if kind is CommandKind.UNDO:
            await here.obey(Command(CommandKind.FORGET_THAT))
        skills = here.every_skill
        async with session(*parts, tts=ToneTts(0.01), skills=skills) as talk:
            await say(talk, "What time is it?")
            if kind is CommandKind.ON_RECORD:
                await say(talk, "Off the record.")
            yield talk, here


def state(talk: Session, here: Bench) -> object:
    """Everything that a command may change."""
    dialogue = talk.dialogue
    profile = [each.text for each in here.memory.profile()]
    return here.current(), here.forgetting.hidden, profile, dialogue.off_record, dialogue.asleep


@pytest.mark.parametrize("kind", KINDS)
async def test_a_likely_command_is_asked_about_and_done_only_after_yes(
    kind: CommandKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = KINDS[kind]
    async with likely(kind, tmp_path, monkeypatch) as (talk, here):
        before = state(talk, here)
        question, no = await say(talk, HINT, "No.")
        assert question.startswith(expected.question)
        assert no.startswith(expected.no)
        assert state(talk, here) == before

        for going_on in ("When did I tell you about Rome?", "It rains."):
            question, *other = await say(talk, HINT, going_on)
            assert question.startswith(expected.question)
            assert len(other) == going_on.startswith("When")
            turns = len(talk.of(TurnEnded))
            assert await say(talk, "Yes.") == [], "it answers no question any more"
            assert len(talk.of(TurnEnded)) == turns + 1
            assert state(talk, here) == before

        await say(talk, HINT)
        [done] = await say(talk, "Yes.")
        assert done.startswith(expected.yes)


def test_every_command_to_the_assistant_itself_is_asked_about_except_wake_and_stop() -> None:
    others = set(CommandKind) - BY_MEANING - set(KINDS)
    assert others == {CommandKind.WAKE, CommandKind.STOP}


async def test_a_likely_wake_command_is_carried_out_without_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with likely(CommandKind.WAKE, tmp_path, monkeypatch) as (talk, _):
        assert await say(talk, "Go to sleep.", HINT) == ["Good night. Say hey Ada to wake me."]
        assert not talk.dialogue.asleep
        assert talk.turns[-1].user == HINT


@pytest.mark.parametrize(
    "kind", [CommandKind.REPEAT, CommandKind.WHY, CommandKind.WHEN_TOLD, CommandKind.KNOW]
)
async def test_a_likely_question_with_nothing_to_tell_is_an_ordinary_turn(
    kind: CommandKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with likely(kind, tmp_path, monkeypatch) as (_, here):
        await here.forgetting.hide([turn.exchange.id for turn in here.turns.all()], ())
        parts = (ScriptedStt("-"), ScriptedLlm("I see."), silence(0.2), tmp_path / "new")
        (tmp_path / "new").mkdir()
        async with session(*parts, tts=ToneTts(0.01), skills=here.every_skill) as talk:
            assert await say(talk, HINT) == []
            assert talk.turns[-1].assistant == "I see."


@pytest.mark.parametrize(("pause_s", "turns"), [(1.8, 1), (14.0, 2)])
async def test_a_likely_stop_stops_what_is_playing_and_is_an_ordinary_turn_in_silence(
    pause_s: float, turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint_at(Command(CommandKind.STOP), monkeypatch)
    llm = ScriptedLlm(LONG)
    sounds = sound(1.0, pause_s, 0.7, 0.5)
    async with session(count_then(HINT), llm, sounds, tmp_path) as talk:
        await talk.to_the_end()
        assert [turn.interrupted for turn in talk.turns[:1]] == [turns == 1]
        assert talk.of(Remarked) == []
        assert len(talk.turns) == len(llm.requests) == turns


async def test_a_typed_line_that_is_likely_to_mean_stop_stops_an_answer_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint_at(Command(CommandKind.STOP), monkeypatch)
    parts = (ScriptedStt("-"), ScriptedLlm(LONG), silence(0.2), tmp_path)
    async with session(*parts) as talk:
        await talk.loop.say("Count for me.")
        while not talk.dialogue.aloud:
            await asyncio.sleep(0.01)
        await talk.loop.say(HINT)
        await talk.loop.settled()
        [turn] = talk.turns
        assert turn.interrupted
        assert talk.of(Remarked) == []
        assert await say(talk, HINT) == []
        assert len(talk.turns) == 2, "it is silent now, so this is an ordinary turn"


async def test_say_that_again_confirms_the_question_whether_to_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with likely(CommandKind.REPEAT, tmp_path, monkeypatch) as (talk, _):
        shall = "Do you want me to say that again?"
        assert await say(talk, HINT, "Say that again.") == [shall, "It is noon."]


@asynccontextmanager
async def new(folder: Path) -> AsyncIterator[Session]:
    """A session with a memory in which nothing has been said."""
    parts = (ScriptedStt("-"), ScriptedLlm("I see."), silence(0.2), folder)
    (folder / "memory").mkdir()
    async with (
        bench(folder / "memory") as here,
        session(*parts, tts=ToneTts(0.01), skills=here.every_skill) as talk,
    ):
        yield talk


async def test_a_likely_command_that_concerns_nothing_answers_the_question_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "I don't want to be called Annie at work."
    hint_at(Command(CommandKind.LIFT, "Annie"), monkeypatch, words)
    async with new(tmp_path) as talk:
        asked, done = await say(talk, "Make a note of that.", words)
        assert asked == "What should I remember?"
        assert done == "I'll remember that you don't want to be called Annie at work."


async def test_a_remark_about_an_undo_is_repeated_even_after_a_purge(tmp_path: Path) -> None:
    async with new(tmp_path) as talk:
        *_, undone = await say(talk, "Remember that my bike is red.", "Undo.")
        talk.dialogue.purged(HiddenItems.of("me", (), (), datetime.now(UTC)), clean=True)
        assert await say(talk, "What did you say?") == [undone]
        assert undone == "All right, I won't keep that."
