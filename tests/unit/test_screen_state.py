"""The state of the screen, folded from events."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

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
    MicrophoneLevel,
    ModelsReady,
    Notice,
    PartialTranscript,
    Phase,
    PhaseChanged,
    PromptBuilt,
    PromptSection,
    Recalled,
    RecordChanged,
    Remarked,
    RingingChanged,
    SessionEnded,
    Severity,
    SpeechIgnored,
    StateChanged,
    StateEntry,
    TurnEnded,
    TurnHeard,
    TurnStarted,
)
from ui.session.state import MOST_TURNS, ConversationLine, ScreenState, Turn, fold, percentile

AT = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
DOG = MemoryUsed("dog", "My dog is called Max.", 0.9)
RUN = MemoryUsed("run", "I run on Tuesdays.", 0.4)
SECTIONS = (PromptSection("system", "You are Ada", 100), PromptSection("newest", "hi", 20))
RINGS = RingingChanged(rings=True)
OFF, ON = RecordChanged(off=True), RecordChanged(off=False)
IDLE = IdleWork("describe", 12)


def folded(*events: Event, state: ScreenState | None = None) -> ScreenState:
    state = state or ScreenState()
    for event in events:
        fold(state, event, AT)
    return state


def turn_of(state: ScreenState) -> Turn:
    assert state.turn is not None
    return state.turn


def ended(assistant: str = "hello", *, interrupted: bool = False, read: int = 0) -> TurnEnded:
    return TurnEnded(1, "hi", assistant, interrupted, Latency(), read_tokens=read)


def test_a_turn_grows_as_it_happens() -> None:
    state = folded(TurnStarted(1), PartialTranscript(1, "what does"))
    assert state.partial == "what does"
    assert not state.turns
    folded(
        Recalled(1, (DOG, RUN), missed=True),
        TurnHeard(1, "What does my dog like?"),
        PromptBuilt(1, SECTIONS, 8000, (("run", "over budget"),)),
        AnswerText(1, "He loves fetch"),
        AnswerText(1, " and walks."),
        AnswerHeard(1, "He loves"),
        state=state,
    )
    now = turn_of(state)
    assert (state.partial, now.user) == ("", "What does my dog like?")
    assert (now.heard, now.unheard) == ("He loves", " fetch and walks.")
    assert (now.shown, now.left_out, now.missed) == ((DOG,), {"run": "over budget"}, True)
    assert (now.tokens, now.budget, now.cached(), now.over) == (120, 8000, None, False)


def test_words_that_were_cut_off_are_separate_from_words_heard() -> None:
    heard = (TurnHeard(1, "hi"), AnswerText(1, "One two three"))
    now = turn_of(folded(*heard, ended("One two", interrupted=True)))
    assert (now.over, now.interrupted) == (True, True)
    assert (now.heard, now.unheard) == ("One two", " three")


@pytest.mark.parametrize(
    ("read", "cached"), [(0, (100, 20)), (20, (100, 0)), (50, (70, 0)), (500, (0, 0))]
)
def test_the_tokens_that_were_not_read_are_cached_from_the_beginning_of_the_prompt(
    read: int, cached: tuple[int, int]
) -> None:
    assert turn_of(folded(PromptBuilt(1, SECTIONS, 8000), ended(read=read))).cached() == cached


def test_only_the_most_recent_turns_are_kept_in_order() -> None:
    state = folded(*(TurnHeard(number, "hi") for number in range(1, MOST_TURNS + 6)))
    assert [state.turns[0].number, state.turns[-1].number] == [6, MOST_TURNS + 5]


@pytest.mark.parametrize(
    ("events", "name", "value"),
    [
        ((PhaseChanged(Phase.LISTENING),), "phase", Phase.LISTENING),
        ((ModelsReady({"llm": "qwen"}),), "models", {"llm": "qwen"}),
        ((MicrophoneLevel(-20.0),), "level_dbfs", -20.0),
        ((IDLE,), "idle", IDLE),
        ((IDLE, IdleWork(None, 2)), "idle", None),
        ((IDLE, SessionEnded(1)), "idle", None),
        ((IDLE, PhaseChanged(Phase.STARTING)), "idle", None),
        ((RINGS,), "ringing", True),
        ((RINGS, RingingChanged(rings=False)), "ringing", False),
        ((RINGS, PhaseChanged(Phase.STARTING)), "ringing", False),
        ((OFF,), "off_record", True),
        ((OFF, ON), "off_record", False),
    ],
)
def test_an_event_changes_the_state(events: tuple[Event, ...], name: str, value: Any) -> None:
    state = folded(*events)
    assert getattr(state, name) == value
    assert state.version == len(events), "each event makes a new version"


def test_a_restart_is_a_line_after_the_last_turn() -> None:
    state = folded(TurnHeard(1, "hi"), PhaseChanged(Phase.STARTING), TurnHeard(1, "hi"))
    kinds = [type(entry) for entry in state.entries]
    assert (kinds, state.begun) == ([Turn, ConversationLine, Turn], 3)


def lines_of(state: ScreenState) -> list[tuple[str, str]]:
    """The lines between turns that are shown, each as its kind and its text."""
    lines = [each for each in state.entries if isinstance(each, ConversationLine)]
    return [(each.kind, each.text) for each in lines if not state.hides(each)]


def test_commands_remarks_and_ignored_speech_are_shown_as_lines() -> None:
    state = folded(
        CommandHeard("Go to sleep."),
        Remarked("Good night."),
        SpeechIgnored("command"),
        SpeechIgnored("noise", "uh"),
    )
    assert lines_of(state) == [
        ("command", "Go to sleep."),
        ("remark", "Good night."),
        ("ignored", "uh (noise)"),
    ]
    assert len(folded(OFF, ON).entries) == 2


REMEMBERED = (
    CommandHeard("Remember that my locker code is 4471."),
    Remarked("I'll remember that your locker code is 4471."),
    SpeechIgnored("noise", "The locker, 4471"),
    OFF,
)
FORGET = (
    ForgettingBegan("f", (), ("m",), AT),
    CommandHeard("Forget my locker code."),
    Remarked("Forgotten: your locker code is 4471. Say undo to keep it."),
)


def test_lines_that_may_quote_what_is_hidden_are_hidden_until_it_is_brought_back() -> None:
    state = folded(*REMEMBERED)
    before = lines_of(state)
    folded(*FORGET, state=state)
    after = [("command", FORGET[1].text), ("remark", FORGET[2].text)]
    assert lines_of(state) == [before[-1], *after], "only the note stays, which quotes nothing"
    folded(ForgettingUndone("f"), state=state)
    assert lines_of(state) == [*before, *after]


def test_after_a_purge_no_line_quotes_what_was_forgotten_not_even_the_request() -> None:
    state = folded(*REMEMBERED, *FORGET, ForgettingDone("f"), CommandHeard("What time is it?"))
    assert [kind for kind, _ in lines_of(state)] == ["note", "command"]
    assert "4471" not in repr(state)
    assert "locker" not in repr(state)


def test_what_one_forgetting_hides_stays_hidden_when_another_is_undone() -> None:
    last = ForgettingBegan("g", ("x",), (), AT)
    state = folded(*REMEMBERED, *FORGET, last, ForgettingUndone("g"))
    assert [text for kind, text in lines_of(state) if kind == "command"] == [FORGET[1].text]


def test_the_newest_problem_is_shown_until_it_is_dismissed() -> None:
    state = folded(
        Notice("first", Severity.WARNING), Notice("then", Severity.ERROR), Notice("by the way")
    )
    for text in ("then", "first"):
        assert state.trouble is not None
        assert state.trouble.notice.text == text
        state.trouble.dismissed = True
    assert state.trouble is None


def test_the_last_forgetting_that_is_not_finished_can_be_undone() -> None:
    due = AT + timedelta(minutes=1)
    began = [ForgettingBegan(key, (key,), (), due) for key in "abc"]
    state = folded(*began, ForgettingUndone("c"), ForgettingDone("b"))
    assert state.undoable is not None
    assert state.undoable.id == "a"
    assert folded(ForgettingDone("a"), state=state).undoable is None


def test_percentiles_lie_between_the_measured_values() -> None:
    assert percentile([], 0.5) is None
    assert percentile([3.0], 0.95) == 3.0
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert percentile([4.0, 1.0], 1.0) == 4.0


def test_entries_are_replaced_kind_by_kind_and_are_gone_when_the_assistant_restarts() -> None:
    milk = StateEntry("m", "s", {"text": "milk"})
    note = StateEntry("n", "", {"text": "Old."})
    state = folded(StateChanged("item", (milk,)), StateChanged("note", (note,)))
    assert state.kept == {"item": (milk,), "note": (note,)}
    folded(StateChanged("item", ()), state=state)
    assert state.kept == {"item": (), "note": (note,)}
    assert folded(PhaseChanged(Phase.STARTING), state=state).kept == {}
