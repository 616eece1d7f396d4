"""What the screen shows, folded from events."""

from datetime import UTC, datetime, timedelta

import pytest

from assistant.events import (
    AnswerHeard,
    AnswerText,
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
    SessionEnded,
    Severity,
    SpeechIgnored,
    TurnEnded,
    TurnHeard,
    TurnStarted,
)
from ui.session.state import MOST_TURNS, RemarkLine, ScreenState, fold, percentile

AT = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
DOG = MemoryUsed("dog", "My dog is called Max.", 0.9)
RUN = MemoryUsed("run", "I run on Tuesdays.", 0.4)
SECTIONS = (PromptSection("system", "You are Ada", 100), PromptSection("newest", "hi", 20))


def folded(*events: Event) -> ScreenState:
    state = ScreenState()
    for event in events:
        fold(state, event, AT)
    return state


def turn(
    number: int, assistant: str = "hello", *, interrupted: bool = False, read: int = 0
) -> TurnEnded:
    return TurnEnded(number, "hi", assistant, interrupted, Latency(), read_tokens=read)


def test_a_turn_grows_as_it_happens() -> None:
    state = folded(
        TurnStarted(1),
        PartialTranscript(1, "what does"),
    )
    assert state.partial == "what does"
    assert not state.turns
    for event in (
        Recalled(1, (DOG, RUN), missed=True),
        TurnHeard(1, "What does my dog like?"),
        PromptBuilt(1, SECTIONS, 8000, (("run", "over budget"),)),
        AnswerText(1, "He loves fetch"),
        AnswerText(1, " and walks."),
        AnswerHeard(1, "He loves"),
    ):
        fold(state, event, AT)
    now = state.turn
    assert now is not None
    assert (state.partial, now.user, now.heard, now.unheard) == (
        "",
        "What does my dog like?",
        "He loves",
        " fetch and walks.",
    )
    assert (now.shown, now.left_out, now.missed) == ((DOG,), {"run": "over budget"}, True)
    assert (now.tokens, now.budget, now.cached(), now.over) == (120, 8000, None, False)


def test_words_cut_off_are_kept_apart_from_words_heard() -> None:
    state = folded(
        TurnHeard(1, "hi"),
        AnswerText(1, "One two three"),
        turn(1, "One two", interrupted=True),
    )
    now = state.turn
    assert now is not None
    assert now.over
    assert now.interrupted
    assert (now.heard, now.unheard) == ("One two", " three")


@pytest.mark.parametrize(
    ("read", "cached"), [(0, (100, 20)), (20, (100, 0)), (50, (70, 0)), (500, (0, 0))]
)
def test_the_beginning_of_the_prompt_was_cached(read: int, cached: tuple[int, int]) -> None:
    state = folded(PromptBuilt(1, SECTIONS, 8000), turn(1, read=read))
    assert state.turn is not None
    assert state.turn.cached() == cached


def test_turns_follow_each_other_and_old_ones_leave() -> None:
    state = folded(*(TurnHeard(number, "hi") for number in range(1, MOST_TURNS + 6)))
    assert [state.turns[0].number, state.turns[-1].number] == [6, MOST_TURNS + 5]


def test_phases_models_and_levels() -> None:
    state = folded(
        PhaseChanged(Phase.LISTENING), ModelsReady({"llm": "qwen"}), MicrophoneLevel(-20.0)
    )
    assert (state.phase, state.models, state.level_dbfs) == (
        Phase.LISTENING,
        {"llm": "qwen"},
        -20.0,
    )


def test_idle_work_is_shown_while_it_lasts() -> None:
    assert folded(IdleWork("describe", 12)).idle == IdleWork("describe", 12)
    for end in (IdleWork(None, 2), SessionEnded(1), PhaseChanged(Phase.STARTING)):
        assert folded(IdleWork("describe", 12), end).idle is None


def test_remarks_and_ignored_speech_are_lines() -> None:
    state = folded(
        Remarked("Good night."), SpeechIgnored("noise", ""), SpeechIgnored("noise", "uh")
    )
    assert [
        (entry.kind, entry.text) for entry in state.entries if isinstance(entry, RemarkLine)
    ] == [
        ("remark", "Good night."),
        ("ignored", "uh (noise)"),
    ]


def test_off_the_record_is_shown() -> None:
    off, on = RecordChanged(off=True), RecordChanged(off=False)
    assert [folded(*events).off_record for events in ((off,), (off, on))] == [True, False]
    assert len(folded(off, on).entries) == 2


def test_the_newest_trouble_stays_until_it_is_dismissed() -> None:
    state = folded(
        Notice("first", Severity.WARNING), Notice("then", Severity.ERROR), Notice("by the way")
    )
    assert state.trouble is not None
    assert state.trouble.notice.text == "then"
    state.trouble.dismissed = True
    assert state.trouble.notice.text == "first"
    state.trouble.dismissed = True
    assert state.trouble is None


def test_the_last_forgetting_that_is_open_can_be_undone() -> None:
    due = AT + timedelta(minutes=1)
    state = folded(*(ForgettingBegan(key, (key,), (), due) for key in "abc"))
    fold(state, ForgettingUndone("c"), AT)
    fold(state, ForgettingDone("b"), AT)
    assert state.undoable is not None
    assert state.undoable.id == "a"
    fold(state, ForgettingDone("a"), AT)
    assert state.undoable is None


def test_every_event_is_a_new_version() -> None:
    state = ScreenState()
    versions = []
    for event in (TurnStarted(1), MicrophoneLevel(-30.0), TurnHeard(1, "x")):
        fold(state, event, AT)
        versions.append(state.version)
    assert versions == [1, 2, 3]


def test_percentiles_lie_between_what_was_measured() -> None:
    assert percentile([], 0.5) is None
    assert percentile([3.0], 0.95) == 3.0
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert percentile([4.0, 1.0], 1.0) == 4.0
