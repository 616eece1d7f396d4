"""The parts of a prompt that are not conversation: persona, profile, date, notes.

The system prompt never changes while the assistant runs. What changes from turn to turn (date,
memories, state) is a block of bracketed lines in the newest user message, above the user's words;
it never enters the history.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from string import Template

from assistant.context.note import Note
from assistant.context.notes import NotesBlock, profile_block, sanitised
from assistant.events import Notice, PromptSection
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
    notes: NotesBlock = field(default_factory=NotesBlock)
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


class CoreMemoryPart:
    """What is always shown about the user, at the end of the system prompt. When it changes, the
    model must re-read everything; this is rare, and happens while nobody waits.

    Args:
        notes: returns the same object until the notes change.
        count: tokens of a text.
        most: tokens that it may take.
    """

    def __init__(
        self, notes: Callable[[], Sequence[Note]], count: Callable[[str], int], most: int
    ) -> None:
        self._notes = notes
        self._count = count
        self._most = most
        self._read: Sequence[Note] = ()
        self._text = ""
        self.version = 0
        """Increases whenever `text` changes."""

    def text(self) -> str:
        """The text to append to the system prompt; empty if there is none."""
        notes = self._notes()
        if notes != self._read:
            block = profile_block(notes, self._count, self._most)
            self._read, self._text = notes, f"\n\n{block}" if block else ""
            self.version += 1
        return self._text

    def told(self) -> list[str]:
        """The notes that it contains in full."""
        text = self.text()
        return [note.text for note in self._read if sanitised(note.text) in text]


def date_line(now: datetime) -> str:
    """Date and time in words, on one short line: about 20 tokens, since most vocabularies have one
    token per digit.

    It is a sentence in round brackets because small models repeat a bare date in square brackets at
    the beginning of their answer.
    """
    weekday, month = WEEKDAYS[now.weekday()], MONTHS[now.month - 1]
    return f"(It is {weekday} {now.day} {month} {now.year} {now.hour:02}:{now.minute:02}.)"


_TIME_WORDS = re.compile(
    r"\b(time|clock|dates?|days?|today|tonight|tomorrow|yesterday|now|current(ly)?|mornings?|"
    r"evenings?|afternoons?|nights?|weeks?|weekends?|months?|years?|hours?|minutes?|when|ago|since|"
    r"until|till|next|last|soon|later|late|early|age|old|birthdays?|calendar|schedule|remind|"
    r"alarm|timer|seasons?|summer|winter|spring|autumn|fall|christmas|easter|holidays?|"
    r"(mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|(19|20)\d\d)\b",
    re.IGNORECASE,
)


def may_need_date(words: str, language: str) -> bool:
    """Whether the answer may depend on the date.

    Small models repeat a date that nobody asked for, and every token delays the answer's first
    word. In languages other than English the date is always given.
    """
    return not language.startswith("en") or _TIME_WORDS.search(words) is not None


_ASKS = re.compile(
    r"\?|\b(what|which|who(m|se)?|where|when|why|how|tell|remind|remember|recall|recommend|suggest|"
    r"know|(am|was|were|do|did|have|had|can|could|should|will|would) (i|we|you|my|our))\b",
    re.IGNORECASE,
)


def asks_something(words: str, language: str) -> bool:
    """Whether the user may be asking about something remembered. Only English words can tell; in
    other languages it is always possible."""
    return not language.startswith("en") or _ASKS.search(words) is not None


_ASKS_WHEN = re.compile(
    r"\b(when|since|ago|how (long|old|often|recent|many (hours|days|weeks|months|years))|"
    r"(what|which) (date|day|time|week|month|year)|(first|last) time)\b",
    re.IGNORECASE,
)


def asks_when(words: str) -> bool:
    """Whether the answer is a date or a length of time. Works in English only."""
    return _ASKS_WHEN.search(words) is not None


_LOOKS_BACK = re.compile(
    r"\b(was|were|did|had|used to|before|previous(ly)?|former(ly)?|earlier|original(ly)?|once|old|"
    r"ago|since|until|change[ds]?|moved?)\b",
    re.IGNORECASE,
)


def asks_about_past(words: str) -> bool:
    """Whether the answer may be something that no longer holds. Works in English only."""
    return _LOOKS_BACK.search(words) is not None


def state_block(state: str | None) -> str:
    return f"({state.strip()})" if state and state.strip() else ""


def joined(*parts: str) -> str:
    """The non-empty parts, one per line."""
    return "\n".join(part for part in parts if part)
