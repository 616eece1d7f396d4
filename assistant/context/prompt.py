"""The parts of a prompt that are not conversation: persona, profile, summary, date.

The system prompt never changes while the assistant runs. What changes from turn to turn (date,
memories, state) is a block of bracketed lines in the newest user message, above the user's words;
it never enters the history.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from string import Template

from assistant.context.memory_block import MemoryBlock, profile_block, sanitised
from assistant.events import MemoryUsed, Notice, PromptSection
from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.settings import Persona
from models.interfaces import Message

LANGUAGES = (
    "ar Arabic, bg Bulgarian, ca Catalan, cs Czech, cy Welsh, da Danish, de German, el Greek, "
    "en English, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fr French, ga Irish, "
    "he Hebrew, hi Hindi, hr Croatian, hu Hungarian, id Indonesian, is Icelandic, it Italian, "
    "ja Japanese, ka Georgian, kk Kazakh, ko Korean, lb Luxembourgish, lt Lithuanian, lv Latvian, "
    "ml Malayalam, ne Nepali, nl Dutch, no Norwegian, pl Polish, pt Portuguese, ro Romanian, "
    "ru Russian, sk Slovak, sl Slovenian, sr Serbian, sv Swedish, sw Swahili, te Telugu, th Thai, "
    "tr Turkish, uk Ukrainian, vi Vietnamese, zh Chinese"
)
"""ISO 639-1 codes of the languages that voices speak, with names that a language model knows."""

SUMMARY_OPENING = "Earlier in this conversation: "


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model sees in one turn.

    `stable_messages` are the first of `messages`: system prompt, summary and history, the same
    bytes from turn to turn. The tokens of `sections` add up to exactly `tokens`: those of the chat
    template (role marks) count with the section they open or close, except that those opening the
    answer count with the system prompt.
    """

    messages: tuple[Message, ...]
    stable_messages: tuple[Message, ...]
    sections: tuple[PromptSection, ...]
    tokens: int
    budget: int
    memories: MemoryBlock
    """Which memories the prompt contains, and why others were left out."""
    notice: Notice | None = None
    """Something to tell the user: the newest message was shortened."""


def load_prompt(name: str) -> str:
    """Load a prompt that ships with the project, from `data/prompts`."""
    return (files("data") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def language_name(code: str) -> str:
    """A language in words: `de` is German; `auto` means whichever the user speaks."""
    if code == "auto":
        return "the user's language"
    names = dict(pair.split() for pair in LANGUAGES.split(", "))
    return names.get(code.lower().partition("-")[0], f"the language {code}")


def system_prompt(persona: Persona) -> str:
    """The built-in persona, followed by the user's own instructions."""
    template = Template(load_prompt("system"))
    built_in = template.safe_substitute(name=persona.name, language=language_name(persona.language))
    own = persona.instructions.strip()
    return f"{built_in}\n{own}" if own else built_in


def summary_text(summary: str) -> str:
    """A summary, as it appears at the end of the system message."""
    return f"\n\n{SUMMARY_OPENING}{summary}"


class ProfilePart:
    """The part of the system prompt, at its end, that is always shown about the user. When it
    changes, the model must re-read everything; this is rare, and happens while nobody waits.

    Args:
        memories: returns the memories, as the same object until they change.
        count: counts the tokens of a text.
        most: maximum number of tokens of the part.
    """

    def __init__(
        self, memories: Callable[[], Sequence[MemoryUsed]], count: Callable[[str], int], most: int
    ) -> None:
        self._memories = memories
        self._count = count
        self._most = most
        self._read: Sequence[MemoryUsed] = ()
        self._text = ""

    def text(self) -> str:
        """The text to append to the system prompt; empty if there are no memories."""
        memories = self._memories()
        if memories != self._read:
            block = profile_block(memories, self._count, self._most)
            self._read, self._text = memories, f"\n\n{block}" if block else ""
        return self._text

    def memories(self) -> list[str]:
        """The texts of the memories that it contains in full."""
        text = self.text()
        return [memory.text for memory in self._read if sanitised(memory.text) in text]


def date_line(now: datetime) -> str:
    """Date and time in words, on one short line: about 20 tokens, since most vocabularies have one
    token per digit.

    It is a sentence in round brackets because small models repeat a bare date in square brackets at
    the beginning of their answer.
    """
    weekday, month = WEEKDAYS[now.weekday()], MONTHS[now.month - 1]
    return f"(It is {weekday} {now.day} {month} {now.year} {now.hour:02}:{now.minute:02}.)"


def joined(*parts: str) -> str:
    """The non-empty parts, one per line."""
    return "\n".join(part for part in parts if part)
