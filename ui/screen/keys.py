"""The keys that work everywhere, and the tabs they lead to."""

from collections.abc import Sequence

from textual.binding import Binding, BindingType

TABS: Sequence[str] = ("talk", "memory", "latency", "settings", "logs")
KEYS: list[BindingType] = [
    *(
        Binding(str(number), f"tab('{name}')", name.capitalize(), id=f"tab.{name}", show=False)
        for number, name in enumerate(TABS, start=1)
    ),
    Binding("space", "mute", "Mute", id="voice.mute"),
    Binding("x", "stop", "Stop speaking", id="voice.stop"),
    Binding("t", "talk", "Talk (push)", id="voice.talk", show=False),
    Binding("s", "sleep", "Sleep or wake", id="voice.sleep", show=False),
    Binding("o", "record", "On or off the record", id="voice.off_record", show=False),
    Binding("r", "keep", "Start or stop recording", id="session.record", show=False),
    # Priority: before any widget sees them, since the letters that follow are text.
    Binding("i", "type", "Type", id="voice.type", priority=True),
    Binding("slash", "find", "Find", id="find", priority=True),
    Binding("u", "undo", "Undo", id="undo"),
    Binding("y", "copy", "Copy", id="copy", show=False),
    Binding("ctrl+r", "restart", "Start again", id="voice.restart"),
    Binding("escape", "dismiss", "Dismiss", id="dismiss", show=False),
    Binding("question_mark", "help", "Help", id="help"),
    Binding("ctrl+q", "quit", "Quit", id="quit", priority=True),
]
