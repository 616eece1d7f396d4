"""The screen in a real terminal, with a microphone, a loudspeaker and real models."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from models.interfaces import Samples
from tests.support.pulse import PulseServer
from tests.support.talking import REMEMBERING, Talk
from tests.support.terminal import Terminal, assistant_screen

pytestmark = [pytest.mark.real, pytest.mark.sound]

ENVIRONMENT = REMEMBERING | {
    "ASSISTANT_ENCRYPTION__MODE": "off",
    "ASSISTANT_LLM__MAX_ANSWER_TOKENS": "16",
    "ASSISTANT_LLM__TEMPERATURE": "0",
    "ASSISTANT_FORGET__GRACE_S": "600",
    "NO_COLOR": "1",
}
DOG = "My dog is called Max and he loves to play fetch."
ASK = "What is my dog called?"
BACK = "Forgotten. u brings it back"


def tell(home: Path) -> None:
    """In a session of its own, so that it is a memory in the next."""
    with Talk(home, "--profile", "tiny", "--text", env=ENVIRONMENT) as talk:
        talk.wait_for("memories")
        talk.say(DOG)
        talk.end_input()
        assert talk.finish() == 0


class Panes:
    """What the parts of a wide screen show; their frames are cut off."""

    def __init__(self, screen: str) -> None:
        self.left = ""
        self.right: dict[str, str] = {}
        title = ""
        for line in screen.splitlines():
            cells = re.split(r"[│╭╮╰╯]", line)
            if len(cells) < 4:
                continue
            self.left += f"{cells[1].strip()} "
            if found := re.match(r"─ (Context|Injected|Latency)", cells[3]):
                title = found[1]
            else:
                self.right[title] = self.right.get(title, "") + f"{cells[3].rstrip()}\n"


def injected(name: str, turn: int) -> Callable[[str], bool]:
    """The pane of the memories shows those of this turn, and they hold this name."""

    def there(screen: str) -> bool:
        shown = Panes(screen).right.get("Injected", "")
        return f"Injected memories, turn {turn}" in screen and name in shown

    return there


def over(turn: int) -> Callable[[str], bool]:
    """The turn's latency is shown: it is over."""
    return lambda screen: f"Latency of turn {turn} " in screen


def prompt(terminal: Terminal) -> str:
    """The newest turn's whole prompt, section by section, as `enter` opens each."""
    return ""


def test_what_was_recalled_is_seen_and_forgotten_with_a_key(
    tmp_path: Path, pulse: PulseServer, speaker: Callable[[str], Samples]
) -> None:
    home = tmp_path / "home"
    tell(home)
    with Terminal(assistant_screen(home), env=pulse.env | ENVIRONMENT) as terminal:
        terminal.wait_for("listening")
        terminal.wait_for("2 memories")
        pulse.speak(speaker(ASK))
        screen = terminal.wait_for(over(1))
        print(screen)
        panes = Panes(screen)
        print(panes.left, panes.right)
        terminal.press("C-q")
        assert terminal.wait_end() == 0
