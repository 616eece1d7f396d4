"""The screen for a recorded conversation: the usual screen, with keys to pause, skip and speed
up."""

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult, RenderResult
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.notifications import SeverityLevel
from textual.widget import Widget
from textual.widgets import Input

from assistant.errors import AssistantError
from assistant.paths import Home
from assistant.settings import Loaded
from ui.screen.app import AssistantScreen
from ui.screen.widgets.keys import keys_of
from ui.session.replay import Replay

TICK_S = 0.25
BAR = 20
KEYS = (
    "   {key[replay.pause]} pauses · {key[replay.turn]} next turn · {key[replay.event]} next event "
    "· {key[replay.faster]} {key[replay.slower]} speed"
)


class ReplayLine(Widget):
    """The line that shows the position, the speed and the keys."""

    DEFAULT_CSS = "ReplayLine { height: 1; dock: bottom; background: $panel; }"

    def __init__(self, replay: Replay) -> None:
        super().__init__(id="replay-line")
        self._replay = replay

    def on_mount(self) -> None:
        self.set_interval(TICK_S, self.refresh)

    def render(self) -> RenderResult:
        replay = self._replay
        here, whole = replay.seconds
        done = round(BAR * here / whole) if whole else BAR
        sign, word = ("‖", "paused") if replay.paused else ("▶", "playing")
        if replay.over:
            sign, word = "■", "the end"
        return Text.assemble(
            (f" {sign} {word:<7}", "bold"),
            ("━" * done, "cyan"),
            ("─" * (BAR - done), "dim"),
            f" {_clock(here)} of {_clock(whole)}  ×{replay.speed:g}",
            (KEYS.format(key=keys_of(self)), "dim"),
            no_wrap=True,
            overflow="ellipsis",
        )


class ReplayScreen(AssistantScreen):
    """Shows the recorded events in real time or at another speed.

    Ages are computed from the time of the recording.
    """

    CSS = AssistantScreen.CSS + "Footer { display: none; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pause", "Pause", id="replay.pause", priority=True),
        Binding("n", "next_turn", "Next turn", id="replay.turn", priority=True),
        Binding("right", "next_event", "Next event", id="replay.event"),
        Binding("plus,equals_sign", "speed(1)", "Faster", id="replay.faster"),
        Binding("minus", "speed(-1)", "Slower", id="replay.slower"),
        Binding("E", "to_the_end", "Go to the end", id="replay.end", show=False),
    ]

    def __init__(
        self,
        replay: Replay,
        home: Home,
        loaded: Loaded,
        driver: type[Driver] | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        super().__init__(replay, home, loaded, driver, now=now or replay.clock)
        self.replay = replay
        replay.refused = self._refused

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield ReplayLine(self.replay)

    def tell(self, error: AssistantError) -> None:
        """Show an error as a notification. The notice line is for the recording's own errors."""
        self._refused(str(error), "warning")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys `space` and `n` while the user types into an input line."""
        if action in ("pause", "next_turn") and isinstance(self.focused, Input):
            return False
        return super().check_action(action, parameters)

    def action_pause(self) -> None:
        self._move(self.replay.pause)

    def action_next_turn(self) -> None:
        self._move(self.replay.next_turn)

    def action_next_event(self) -> None:
        self._move(self.replay.next_event)

    def action_speed(self, steps: int) -> None:
        self._move(lambda: self.replay.faster(steps))

    def action_to_the_end(self) -> None:
        self._move(self.replay.to_the_end)

    def _move(self, act: Callable[[], None]) -> None:
        act()
        self.query_one(ReplayLine).refresh()

    def _refused(self, sentence: str, severity: SeverityLevel = "information") -> None:
        self.clear_notifications()
        self.notify(sentence, severity=severity)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"
