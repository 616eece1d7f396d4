"""The screen, driven by keys: the parts of a conversation that it shows, and its requests."""

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from textual.widget import Widget
from textual.widgets import OptionList

from assistant.errors import StoreError
from assistant.events import (
    AnswerHeard,
    AnswerText,
    CommandHeard,
    Event,
    ForgettingBegan,
    ForgettingDone,
    ForgettingUndone,
    IdleWork,
    Latency,
    MemoryUsed,
    Notice,
    PartialTranscript,
    Phase,
    PhaseChanged,
    PromptBuilt,
    PromptSection,
    Recalled,
    Remarked,
    Severity,
    SoundReady,
    TurnEnded,
    TurnHeard,
)
from assistant.paths import Home
from tests.support.desks import Row, ask, at_desk
from tests.support.explained import DOG as DOG_SAID
from tests.support.explained import WHAT, explained
from tests.support.pilots import shown, until
from tests.support.screens import AT, READY, ToldSession, opened, settled
from ui.screen.app import AssistantScreen
from ui.screen.memory.forgetting import SHOWN
from ui.screen.widgets.dialogs import TextDialog

DOG = MemoryUsed(
    "dog",
    "My dog is called Max.",
    0.91,
    said=AT - timedelta(days=3),
    parts=(("meaning", 0.6), ("words", 0.31)),
    words=("dog",),
)
RUN = MemoryUsed("run", "I run on Tuesdays.", 0.42, said=AT)
SECTIONS = (
    PromptSection("system", "You are Ada.", 300),
    PromptSection("history", "the words of before", 900),
    PromptSection("memories", "(Notes: - My dog is called Max.)", 40),
    PromptSection("newest message", "What does my dog like?", 12),
)
TURN: tuple[Event, ...] = (
    Recalled(1, (DOG, RUN), missed=False),
    TurnHeard(1, "What does my dog like?"),
    PromptBuilt(1, SECTIONS, 8000, (("run", "over budget"),)),
    AnswerText(1, "He loves fetch and long walks."),
    AnswerHeard(1, "He loves fetch"),
    TurnEnded(
        1,
        "What does my dog like?",
        "He loves fetch",
        True,
        Latency(180.0, 220.0, 226.0, 410.0, 560.0),
        (DOG,),
        context_tokens=1252,
        read_tokens=52,
        exchange="x1",
    ),
)


async def test_a_turn_is_shown_with_its_latency_prompt_and_memories(tmp_path: Path) -> None:
    async with opened(ToldSession((*READY, *TURN)), tmp_path, (140, 40)) as (app, pilot):
        seen = shown(app)
        for words in (
            "listening",
            "1,234 memories",
            "USB headset",
            "turn 1",
            "560 ms",
            "What does my dog like?",
            "He loves fetch and long walks. ⟂ interrupted",
            "1,252 of 8,000 tokens",
            "52 tokens newly read",
            f"{'history':<15}{900:>6}",
            "0.91 My dog is called Max.",
            "meaning +0.60 words +0.31",
            "words: dog",
            "0.42 I run on Tuesdays. — over budget",
            "first sound",
            "session p50 560 ms",
        ):
            assert words in seen, words
        app.query_one("#context OptionList", OptionList).focus()
        await pilot.press("j", "enter")
        assert isinstance(app.screen, TextDialog)
        assert "the words of before" in shown(app)
        await pilot.press("y")
        assert app.clipboard == "the words of before"
        await pilot.press("escape")
        assert not isinstance(app.screen, TextDialog)


async def test_a_turn_that_the_model_did_not_answer_is_shown_without_a_prompt(
    tmp_path: Path,
) -> None:
    reply = "I can't look things up online, so I don't know."
    turn = (
        Recalled(2, (RUN,), missed=False),
        TurnHeard(2, "Any news?"),
        PromptBuilt(2, (), 8000, (("run", "not close enough"),)),
        AnswerText(2, reply),
        TurnEnded(2, "Any news?", reply, False, Latency(180.0, 220.0, 226.0, None, 300.0)),
    )
    async with opened(ToldSession((*READY, *TURN, *turn)), tmp_path, (140, 40)) as (app, _):
        seen = shown(app)
        for words in (
            reply,
            "300 ms",
            "Context of turn 2",
            "The assistant answered without the language model.",
            "0.42 I run on Tuesdays. — not close enough",
        ):
            assert words in seen, words
        assert "newest message" not in seen
        assert "first token" not in seen


async def test_what_the_model_is_told_of_an_open_form_is_a_section_of_its_own(
    tmp_path: Path,
) -> None:
    block = "Form being filled in: Medical intake. since: 2026-11-09; Ask next: How bad is it?"
    sections = (*SECTIONS[:2], PromptSection("state", block, 28), *SECTIONS[2:])
    session = ToldSession((*READY, TurnHeard(1, "Hm."), PromptBuilt(1, sections, 8000, ())))
    async with opened(session, tmp_path) as (app, pilot):
        seen = shown(app)
        rows = [f"{each.name:<15}{each.tokens:>6}" for each in sections]
        assert "state" in rows[2]
        places = [seen.index(row) for row in rows]
        assert places == sorted(places)
        app.query_one("#context OptionList", OptionList).focus()
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: isinstance(app.screen, TextDialog))
        assert "state, 28 tokens" in shown(app)
        assert "Ask next: How bad is it?" in shown(app)


async def test_speech_and_idle_work_are_shown_at_once(tmp_path: Path) -> None:
    session = ToldSession()
    async with opened(session, tmp_path) as (app, pilot):

        async def after(*events: Event) -> str:
            session.tell(*events)
            await settled(pilot)
            return shown(app)

        for words in (
            "Nothing has been said yet",
            "The prompt of each turn",
            "The memories recalled",
        ):
            assert words in shown(app), words
        assert "no mic" in await after(SoundReady(None, None), PhaseChanged(Phase.LISTENING))
        assert "idle: describe · 1,234 waiting" in await after(IdleWork("describe", 1234))
        assert "idle: " not in await after(IdleWork(None, 12))
        seen = await after(PhaseChanged(Phase.HEARING), PartialTranscript(1, "what does my"))
        assert "hearing you" in seen
        assert "what does my" in seen


async def test_scrolling_up_pauses_following_and_counts_new_turns(tmp_path: Path) -> None:
    session = ToldSession(READY)
    async with opened(session, tmp_path, (100, 24)) as (app, pilot):
        conversation = app.query_one("#conversation", Widget)
        session.tell(*(TurnHeard(number, f"turn number {number}") for number in range(1, 30)))
        await settled(pilot)
        assert "turn number 29" in shown(app)
        await pilot.press("g")
        session.tell(TurnHeard(30, "turn number 30"), TurnHeard(31, "turn number 31"))
        await settled(pilot)
        assert "turn number 31" not in shown(app)
        assert "+2 new" in str(conversation.border_subtitle)
        await pilot.press("G")
        await settled(pilot)
        assert "turn number 31" in shown(app)
        assert not conversation.border_subtitle


async def test_keys_change_the_memory_under_the_cursor(tmp_path: Path) -> None:
    session = ToldSession((*READY, *TURN))
    asking = {"with_sources": False, "ask": True, "limit": SHOWN}
    requests: list[tuple[tuple[str, ...], dict[str, object]]] = [
        (("p",), {"act": "mark", "id": "dog", "pinned": True}),
        (("n",), {"act": "mark", "id": "dog", "never_recall": True}),
        (("w",), {"act": "mark", "id": "dog", "feedback": -1}),
        (("e", "home", *"Oh ", "enter"), {"act": "edit", "id": "dog", "text": "Oh A dog."}),
        (("d",), {"act": "forget", "ids": ["dog"], **asking}),
        (("j", "d"), {"act": "forget", "ids": ["run"], **asking}),
    ]
    async with opened(session, tmp_path) as (app, pilot):
        app.query_one("#injected OptionList", OptionList).focus()
        for keys, request in requests:
            for key in keys:
                await pilot.press(key)
                if key == "e" and len(app.screen_stack) == 1:
                    await until(pilot, lambda: len(app.screen_stack) == 2)
            await until(pilot, partial(session.has_asked, request))
            await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press("question_mark")
        await pilot.pause()
        assert "Never recall" in shown(app)  # the keys of the focused list
        await pilot.press("question_mark")
        await pilot.pause()
        assert not app.screen.query("HelpPanel")


async def test_an_error_is_shown_until_it_is_dismissed(tmp_path: Path) -> None:
    class Failing(ToldSession):
        async def ask(self, request: object) -> list[dict[str, object]]:
            raise StoreError("The memories are still loading.", mend="Try again.")

    async with opened(Failing((*READY, *TURN)), tmp_path) as (app, pilot):
        app.query_one("#injected OptionList", OptionList).focus()
        await pilot.press("d")
        await settled(pilot)
        assert "still loading. → Try again." in shown(app)
        await pilot.press("escape")
        await settled(pilot)
        assert "still loading" not in shown(app)


def focused(app: AssistantScreen) -> str | None:
    """The id of the widget that gets the keys, if any."""
    return app.focused.id if app.focused else None


async def test_escape_leaves_the_line_of_input_before_it_dismisses_a_warning(
    tmp_path: Path,
) -> None:
    warning = Notice("No microphone was found.", Severity.WARNING)
    async with opened(ToldSession((*READY, warning)), tmp_path) as (app, pilot):
        await pilot.press("i")
        assert focused(app) == "typed"
        await pilot.press("escape")
        await settled(pilot)
        assert focused(app) is None
        assert "No microphone" in shown(app)
        await pilot.press("escape")
        await settled(pilot)
        assert "No microphone" not in shown(app)


async def test_forgotten_words_leave_the_screen_and_undo_brings_them_back(tmp_path: Path) -> None:
    session = ToldSession((*READY, *TURN))
    words = ("What does my dog", "He loves fetch", "called Max")
    async with opened(session, tmp_path) as (app, pilot):
        session.tell(ForgettingBegan("f", ("x1",), ("dog",), AT))
        await settled(pilot)
        seen = shown(app)
        assert "forgotten" in seen
        assert "u: undo" in seen
        assert not any(each in seen for each in words)
        app.query_one("#context OptionList", OptionList).focus()
        await pilot.press("enter")
        assert "no longer shown" in shown(app)
        await pilot.press("escape", "u")
        assert session.asked == [{"act": "undo"}]
        session.tell(ForgettingUndone("f"))
        await settled(pilot)
        assert all(each in shown(app) for each in words)
        session.tell(ForgettingBegan("g", ("x1",), ("dog",), AT), ForgettingDone("g"))
        await settled(pilot)
        left = repr(app.state)  # after the purge, the words are gone from this process, too
    assert not any(each in left for each in words)


async def test_the_words_of_a_command_are_shown_above_the_reply_until_they_may_be_forgotten(
    tmp_path: Path,
) -> None:
    command = CommandHeard("Remember that my locker code is 4471.")
    reply = Remarked("I'll remember that your locker code is 4471.")
    session = ToldSession((*READY, *TURN, command, reply))
    async with opened(session, tmp_path) as (app, pilot):
        seen = shown(app).splitlines()
        at = next(n for n, line in enumerate(seen) if f"you  {command.text}" in line)
        assert reply.text in seen[at + 1]
        session.tell(ForgettingBegan("f", (), ("locker",), AT))
        await settled(pilot)
        assert "locker" not in shown(app)
        assert "What does my dog like?" in shown(app), "the turns are shown by their own ids"
        session.tell(ForgettingUndone("f"))
        await settled(pilot)
        assert f"you  {command.text}" in shown(app)


async def test_a_narrow_terminal_shows_one_part_at_a_time_which_no_warning_covers(
    tmp_path: Path,
) -> None:
    notice = Notice("The microphone was unplugged.", Severity.WARNING, "assistant devices")
    async with opened(ToldSession((*READY, *TURN, notice)), tmp_path, (80, 24)) as (app, pilot):
        for words in (
            "listening",
            "The microphone was unplugged. → assistant devices",
            "1 Talk",
            "He loves fetch",
        ):
            assert words in shown(app), words
        assert "over budget" not in shown(app)
        app.query_one("#parts").focus()
        await pilot.press("right", "right")
        await settled(pilot)
        assert "over budget" in shown(app)
        assert "He loves fetch" not in shown(app)
        await pilot.resize_terminal(120, 40)
        await settled(pilot)
        assert "over budget" in shown(app)
        assert "He loves fetch" in shown(app)


async def test_a_wrong_theme_and_an_unexpected_end_are_shown_and_the_end_sets_the_exit_code(
    tmp_path: Path,
) -> None:
    (tmp_path / "settings.toml").write_text('[screen]\ntheme = "nonsense"\n')
    session = ToldSession(READY)
    async with opened(session, tmp_path) as (app, pilot):
        assert "There is no theme 'nonsense'" in shown(app)
        assert "listening" in shown(app)
        app.ended(StoreError("The data folder is gone.", mend="Look for it."))
        await settled(pilot)
        assert "The data folder is gone. → Look for it." in shown(app)
        await pilot.press("ctrl+q")
    assert session.closed
    assert app.return_value == StoreError.exit_code


@pytest.fixture
def explanation(home: Home) -> list[Row]:
    """The real answer to a request."""
    explained(home)
    with at_desk(home) as desk:
        desk.rebuild()
        return ask(desk, "why", turn="1")


async def test_a_key_shows_what_an_answer_was_based_on(
    tmp_path: Path, explanation: list[Row]
) -> None:
    session = ToldSession(READY)
    session.answers["why"], exchange = explanation, explanation[0]["id"]
    async with opened(session, tmp_path) as (app, pilot):
        session.tell(TurnHeard(1, WHAT))
        await settled(pilot)
        await pilot.press("b")
        assert session.asked == [], "the turn is not over"
        session.tell(TurnEnded(1, WHAT, "Max.", False, Latency(), exchange=exchange))
        await settled(pilot)
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, TextDialog))
        assert session.asked == [{"act": "why", "turn": exchange}]
        seen = shown(app)
        for words in ("Based on: turn 1", "The answer was based on:", DOG_SAID, "not close enough"):
            assert words in seen, words
        await pilot.press("escape")
        assert not isinstance(app.screen, TextDialog)
