"""The words of a prompt that are not the conversation's own: persona, date, notes.

The system prompt never changes while the assistant runs. What changes from turn to turn (the date,
memories, state) is a block of bracketed lines in the newest user message, above the user's words;
the history never holds it.
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
"""ISO 639-1 codes of languages that voices speak, in the words that a language model knows."""

SUMMARY_OPENING = "Earlier in this conversation: "


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model sees in one turn.

    `stable_messages` are the first of `messages`: system prompt, summary and history, the same
    bytes from turn to turn. `sections` add up to `tokens` exactly; the tokens of the template's
    own (role marks, the answer's opening) are counted with the section they open or close, those
    of the answer's opening with the system prompt.
    """

    messages: tuple[Message, ...]
    stable_messages: tuple[Message, ...]
    sections: tuple[PromptSection, ...]
    tokens: int
    budget: int
    notes: NotesBlock = field(default_factory=NotesBlock)
    """Which memories are in it, and which are not and why."""
    notice: Notice | None = None
    """Something that the user should be told: the newest message was shortened."""


def load_prompt(name: str) -> str:
    """A prompt that ships with the project, from `data/prompts`."""
    return (files("data") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def language_name(code: str) -> str:
    """The language in words: `de` is German; `auto` whichever the user speaks."""
    if code == "auto":
        return "the user's language"
    names = dict(pair.split() for pair in LANGUAGES.split(", "))
    return names.get(code.lower().partition("-")[0], f"the language {code}")


def system_prompt(persona: Persona) -> str:
    """The built-in persona, then the user's own words for it."""
    template = Template(load_prompt("system"))
    built_in = template.safe_substitute(name=persona.name, language=language_name(persona.language))
    own = persona.instructions.strip()
    return f"{built_in}\n{own}" if own else built_in


def summary_text(summary: str) -> str:
    """How a summary stands at the end of the system message."""
    return f"\n\n{SUMMARY_OPENING}{summary}"


class CoreMemoryPart:
    """What is always known of the user, at the end of the system prompt. When it changes the model
    reads all anew, which is rare, and done while nobody waits.

    Args:
        notes: the same object until it changes.
        count: tokens of a text.
        most: tokens that it may have.
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
        """Another one whenever `text` is another one."""

    def text(self) -> str:
        """As it follows the system prompt; empty when there is nothing."""
        notes = self._notes()
        if notes != self._read:
            block = profile_block(notes, self._count, self._most)
            self._read, self._text = notes, f"\n\n{block}" if block else ""
            self.version += 1
        return self._text

    def told(self) -> list[str]:
        """The notes that it holds to their end."""
        text = self.text()
        return [note.text for note in self._read if sanitised(note.text) in text]


def date_line(now: datetime) -> str:
    """Date and time in words, on one short line: about 20 tokens, since most vocabularies take
    each digit for one.

    A sentence in round brackets, because small models repeat a bare date in square ones as the
    beginning of their answer.
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
    """Whether the answer may depend on what day it is.

    Small models repeat a date that nobody asked for, and every token is read before the first word
    of the answer. In languages other than English it is always given.
    """
    return not language.startswith("en") or _TIME_WORDS.search(words) is not None


_ASKS = re.compile(
    r"\?|\b(what|which|who(m|se)?|where|when|why|how|tell|remind|remember|recall|recommend|suggest|"
    r"know|(am|was|were|do|did|have|had|can|could|should|will|would) (i|we|you|my|our))\b",
    re.IGNORECASE,
)


def asks_something(words: str, language: str) -> bool:
    """Whether it may be something of the past that the user wants to know. Known of English words
    alone; in other languages it always may."""
    return not language.startswith("en") or _ASKS.search(words) is not None


_ASKS_WHEN = re.compile(
    r"\b(when|since|ago|how (long|old|often|recent|many (hours|days|weeks|months|years))|"
    r"(what|which) (date|day|time|week|month|year)|(first|last) time)\b",
    re.IGNORECASE,
)


def asks_when(words: str) -> bool:
    """Whether the answer is a date or a length of time. Known of English words alone."""
    return _ASKS_WHEN.search(words) is not None


_LOOKS_BACK = re.compile(
    r"\b(was|were|did|had|used to|before|previous(ly)?|former(ly)?|earlier|original(ly)?|once|old|"
    r"ago|since|until|change[ds]?|moved?)\b",
    re.IGNORECASE,
)


def asks_about_past(words: str) -> bool:
    """Whether the answer may be something that no longer holds. Known of English words alone."""
    return _LOOKS_BACK.search(words) is not None


def state_block(state: str | None) -> str:
    return f"({state.strip()})" if state and state.strip() else ""


def joined(*parts: str) -> str:
    """The parts that are not empty, one below the other."""
    return "\n".join(part for part in parts if part)
