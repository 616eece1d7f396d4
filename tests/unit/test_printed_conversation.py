"""The conversation as `assistant talk` prints it."""

import io
import json

from assistant.events import (
    AnswerHeard,
    CommandHeard,
    Event,
    Latency,
    Remarked,
    SpeechIgnored,
    TurnEnded,
    TurnHeard,
)
from ui.text.conversation import JsonView, PlainView

TIMER = (
    CommandHeard("Set a timer for five minutes."),
    Remarked("Five minutes, starting now.", "timer_set"),
    SpeechIgnored("command"),
)
TURN = (
    TurnHeard(1, "Hello."),
    AnswerHeard(1, "Good"),
    TurnEnded(1, "Hello.", "Good", True, Latency(first_audio=700.0)),
)
STOP = (CommandHeard("Stop."), SpeechIgnored("command"))


def test_the_words_of_commands_are_printed_like_those_of_turns() -> None:
    out = io.StringIO()
    view = PlainView(out, "Ada")
    for event in (*TIMER, *TURN, *STOP):
        view.show(event)
    assert out.getvalue().splitlines() == [
        "you: Set a timer for five minutes.",
        "Ada: Five minutes, starting now.",
        "you: Hello.",
        "Ada: Good — interrupted  (0.7 s)",
        "you: Stop.",
    ]


def test_programs_get_the_words_of_a_command_before_the_reply() -> None:
    out = io.StringIO()
    view = JsonView(out)
    events: tuple[Event, ...] = (*TIMER, *STOP)
    for event in events:
        view.show(event)
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [row for row in rows if row["event"] != "ignored"] == [
        {"event": "command", "user": "Set a timer for five minutes."},
        {"event": "remark", "text": "Five minutes, starting now."},
        {"event": "command", "user": "Stop."},
    ]
