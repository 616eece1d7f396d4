"""The screen in a real terminal, with a microphone, a loudspeaker and real models."""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from models.interfaces import Samples
from tests.support.command_line import in_this_process
from tests.support.patience import PATIENCE_S
from tests.support.pulse import PulseServer
from tests.support.talking import REMEMBERING, UNHURRIED, Talk
from tests.support.terminal import Terminal, TerminalError, assistant_screen

pytestmark = pytest.mark.real

ENVIRONMENT = (
    UNHURRIED
    | REMEMBERING
    | {
        "ASSISTANT_ENCRYPTION__MODE": "off",
        "ASSISTANT_LLM__MAX_ANSWER_TOKENS": "16",
        "ASSISTANT_LLM__TEMPERATURE": "0",
        "ASSISTANT_FORGET__GRACE_S": "600",
        "NO_COLOR": "1",
    }
)
DOG = "My dog is called Max and he loves to play fetch."
TOLD = "My dog is called Max"
ASK = "What is my dog called?"
FORGET = "d Forget"
MUTE = "space Mute"
"""In the last line of the screen unless keys go to the line of input."""
LISTENING = "● listening"
SET = "minutes, starting now."
LEFT = re.compile(r"(\d+):(\d\d) left")
HEARD_S = PATIENCE_S / 3
"""Seconds to wait for a reply before something is said again."""
MOST_MISHEARD = 3
"""Number of times that a sentence may be misheard before the test fails."""


def tell(home: Path, variables: dict[str, str]) -> None:
    """Tell about the dog in a separate session, so that it is a memory in the next."""
    with Talk(home, "--profile", "tiny", "--text", env=ENVIRONMENT | variables) as talk:
        talk.wait_for("memories")
        talk.say(DOG)
        talk.end_input()
        assert talk.finish() == 0


class Panes:
    """The texts in the panes of a wide screen, without the frames."""

    def __init__(self, screen: str) -> None:
        self.left = ""
        """The left pane's text, joined to one line."""
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

    @property
    def sections(self) -> dict[str, str]:
        """The sections of the prompt, with their tokens as shown."""
        rows = re.findall(r"^ ([a-z ]+?) +([\d,]+)  ", self.right.get("Context", ""), re.MULTILINE)
        return dict(rows)

    def timed(self, step: str) -> bool:
        """Whether the pane with the turn's latency shows a time for this step."""
        found = re.search(rf"^ {step} .* \d+", self.right["Latency"], re.MULTILINE)
        return found is not None


def injected(name: str, turn: int) -> Callable[[str], bool]:
    """Whether the pane shows the memories injected into this turn, and one contains this name."""

    def there(screen: str) -> bool:
        shown = Panes(screen).right.get("Injected", "")
        return f"Injected memories, turn {turn}" in screen and name in shown

    return there


def over(turn: int) -> Callable[[str], bool]:
    """Whether the turn's latency is shown, which means that the turn is over."""
    return lambda screen: f"Latency of turn {turn} " in screen


def focus(terminal: Terminal, pane: str) -> None:
    """Click on the last line of a pane, where its list is empty."""
    lines = terminal.text().splitlines()
    [(top, left)] = [(y, line.index(pane)) for y, line in enumerate(lines) if pane in line]
    bottom = next(y for y in range(top, len(lines)) if lines[y][left - 3 : left - 2] == "╰")
    place = f"{left + 1};{bottom}"  # column and row count from 1
    terminal.type(f"\x1b[<0;{place}M\x1b[<0;{place}m")


def ask(terminal: Terminal, turn: int) -> Panes:
    """Ask about the dog; returns the panes once the answer is over."""
    terminal.press("i")
    terminal.type(ASK)
    terminal.press("Enter", "Escape")
    screen = terminal.wait_for(over(turn))
    terminal.wait_for(MUTE)  # Escape takes effect a moment later than other keys
    return Panes(screen)


def prompt(terminal: Terminal, *wanted: str) -> dict[str, str]:
    """Open the newest turn's sections, or only those wanted, one after the other."""
    focus(terminal, "Context of turn")
    terminal.press("g")
    found = {}
    for name in Panes(terminal.text()).sections:
        if not wanted or name in wanted:
            terminal.press("Enter")
            screen = terminal.wait_for(re.compile(rf"{name}, [\d,]+ tokens ─"))
            found[name] = " ".join(re.sub("[│╭╮╰╯─]", " ", screen).split())
            terminal.press("Escape")
            terminal.wait_gone("esc closes")
        terminal.press("j")
    return found


def test_a_recalled_memory_is_shown_and_forgotten_with_a_key(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    home = tmp_path / "home"
    tell(home, scripted)
    with Terminal(assistant_screen(home), env=ENVIRONMENT | scripted) as terminal:
        terminal.wait_for("2 memories")
        panes = ask(terminal, 1)
        assert re.search(r"you  \S.* dog", panes.left)
        assert {"system", "memories", "newest message"} <= set(panes.sections)
        assert all(int(tokens) > 0 for tokens in panes.sections.values())
        assert injected(TOLD, 1)(terminal.text())
        for step in ("recall", "first token"):
            assert panes.timed(step), panes.right["Latency"]
        assert TOLD in prompt(terminal, "memories")["memories"]

        terminal.press("Tab")  # from the context to the pane below
        terminal.wait_for(FORGET)  # the last line shows the keys of the focused pane
        terminal.press("g", "d")
        terminal.wait_gone(TOLD)
        panes = ask(terminal, 2)
        assert TOLD not in panes.right["Injected"]
        sections = prompt(terminal)
        assert "newest message" not in sections, "without the memory, the model isn't asked"
        assert not any(TOLD in text for text in sections.values())

        terminal.press("u")
        terminal.wait_for("Brought back: ")
        ask(terminal, 3)
        terminal.wait_for(injected(TOLD, 3))
        assert TOLD in prompt(terminal, "memories")["memories"]
        terminal.press("C-q")
        assert terminal.wait_end() == 0
        assert terminal.wait_processes_end() == []


@pytest.mark.sound
@pytest.mark.alone
def test_the_screen_with_a_new_home_hears_its_user_and_is_used_with_voice_and_keys(
    tmp_path: Path, pulse: PulseServer, speaker: Callable[[str], Samples]
) -> None:
    """Each part begins and ends on the tab with the conversation."""
    env = pulse.env | ENVIRONMENT
    with Terminal(assistant_screen(tmp_path / "home"), env=env) as terminal:
        answer_aloud_after_the_first_steps(terminal, pulse, speaker)
        set_a_timer_by_voice_and_remove_it_with_a_key(terminal, pulse, speaker)
        printed = in_this_process("timers", home=tmp_path / "home", **env)
        assert (printed.returncode, printed.stdout) == (0, "No timers are running.\n"), printed
        correct_a_form_with_a_key_and_go_on_by_voice(terminal, pulse, speaker)
        exported = ("forms", "export", "-", "--markdown")
        printed = in_this_process(*exported, home=tmp_path / "home", **env)
        assert printed.stdout.startswith(
            "# Medical intake\n\n- **reason**: migraine\n- **since**: "
        )
        terminal.press("C-q")
        assert terminal.wait_end() == 0


def answer_aloud_after_the_first_steps(
    terminal: Terminal, pulse: PulseServer, speaker: Callable[[str], Samples]
) -> None:
    terminal.wait_for("First steps: the microphone")
    terminal.wait_for("Say something.")
    pulse.speak(speaker(DOG))
    terminal.wait_for("I hear you.")
    terminal.press("Enter")
    terminal.wait_for("Say hello, or press i and type.")
    terminal.wait_for(LISTENING)
    pulse.speak(speaker(DOG))
    terminal.wait_for(over(1))
    assert "Say hello" not in terminal.text()
    panes = Panes(terminal.text())
    for step in ("end of turn", "words", "recall", "first token", "first sound"):
        assert panes.timed(step), panes.right["Latency"]


def set_a_timer_by_voice_and_remove_it_with_a_key(
    terminal: Terminal, pulse: PulseServer, speaker: Callable[[str], Samples]
) -> None:
    """The screen shows how it runs down."""
    say_until(terminal, pulse, speaker("Set a timer for ten minutes."), SET)
    terminal.press("6")
    first = seconds_left(terminal.wait_for(LEFT))
    assert 0 < first <= 600
    terminal.wait_for(lambda text: "left" in text and seconds_left(text) < first)
    terminal.press("d")
    terminal.wait_for("Removed. The u key brings it back.")
    terminal.wait_gone(LEFT)
    terminal.press("1")


def correct_a_form_with_a_key_and_go_on_by_voice(
    terminal: Terminal, pulse: PulseServer, speaker: Callable[[str], Samples]
) -> None:
    opens = speaker("Let's fill in the medical intake form.")
    say_until(terminal, pulse, opens, "What brings you in?")
    say_until(terminal, pulse, speaker("I have a headache."), "Since when have you had it?")
    terminal.press("6")
    terminal.wait_for(re.compile(r"Medical intake  1 of 9\n.*reason +\w"))
    terminal.press("g", "j", "e")
    terminal.wait_for("enter saves")
    terminal.press("C-u")
    terminal.wait_for("in your own words")  # the line is empty, and shows what it takes
    terminal.type("migraine")
    terminal.press("Enter")
    terminal.wait_for(re.compile(r"reason +migraine\n +since +–"))
    terminal.press("1")
    say_until(terminal, pulse, speaker("Since yesterday."), "How bad is it")
    terminal.press("6")
    terminal.wait_for(re.compile(r"Medical intake  2 of 9\n +reason +migraine\n +since +\w+day \d"))
    terminal.press("1")


def say_until(terminal: Terminal, pulse: PulseServer, words: Samples, reply: str) -> None:
    """Say something until it is answered like this. It is said again if it was misheard, and so
    became a turn, or if it was not heard at all."""
    for _ in range(MOST_MISHEARD):
        terminal.wait_for(LISTENING)
        found = re.search(r"Latency of turn (\d+)", terminal.text())
        following = int(found[1]) + 1 if found is not None else 1
        answered = either(lambda screen: reply in Panes(screen).left, over(following))
        pulse.speak(words)
        with suppress(TerminalError):
            if reply in Panes(terminal.wait_for(answered, HEARD_S)).left:
                return
    raise AssertionError(f"it was never answered {reply!r}:\n{terminal.text()}")


def either(*conditions: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda screen: any(condition(screen) for condition in conditions)


def seconds_left(screen: str) -> int:
    """The time shown for the timer in seconds."""
    found = LEFT.search(screen)
    assert found is not None, screen
    return 60 * int(found[1]) + int(found[2])
