"""The parts of a prompt besides the conversation: persona, profile, summary and date.

The system prompt stays the same from turn to turn. Parts that change each turn (date, memories,
state) form a block of bracketed lines above the user's words in the newest message. If the words
ask for something that the assistant can't know, another such line follows them, because models heed
it less above the words. None of these lines is stored in the history.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from string import Template

from assistant.context.memory_block import MemoryBlock, profile_block
from assistant.context.not_known import NotKnown
from assistant.context.sanitising import sanitised
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
"""ISO 639-1 codes of the languages of the available voices, each followed by the name used in
prompts."""

SUMMARY_OPENING = "Earlier in this conversation: "
NOT_KNOWN = "(You can't look this up. Say that you don't know it.)"
NOT_KNOWN_UNLESS_NOTED = "(If the notes don't say it, say that you don't know it.)"
"""Added, in English, to a question that the assistant can't answer by itself: the second if the
prompt contains memories, otherwise the first."""


@dataclass(frozen=True, slots=True)
class Newest:
    """The parts of the newest message.

    Attributes:
        pending: earlier words of the user that were not answered.
        words: the user's words.
        not_known: set if `words` ask for something that the assistant can't know by itself.
    """

    pending: str
    state: str
    date: str
    memories: MemoryBlock
    words: str
    not_known: NotKnown | None = None

    @property
    def reply(self) -> str:
        """The fixed reply; empty if the language model answers."""
        if self.not_known is None or self.memories.text:
            return ""
        return self.not_known.reply

    @property
    def hint(self) -> str:
        """The line below the words, or an empty string."""
        if self.not_known is None or self.not_known.about_user:
            return ""
        return NOT_KNOWN_UNLESS_NOTED if self.memories.text else NOT_KNOWN

    @property
    def state_lines(self) -> str:
        """The lines that contain neither the user's words nor memories."""
        return joined(self.state, self.date, self.hint)

    @property
    def message(self) -> Message:
        above = joined(self.pending, self.state, self.date, self.memories.text)
        return Message("user", joined(above, self.words, self.hint))


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages that the model receives in one turn.

    `stable_messages` are the first of `messages`: system prompt, summary and history. They are the
    same from turn to turn. The tokens of `sections` add up to exactly `tokens`. Role marks of the
    chat template are counted with the section that they open or close. The marks that open the
    answer are counted with the system prompt.
    """

    messages: tuple[Message, ...]
    stable_messages: tuple[Message, ...]
    sections: tuple[PromptSection, ...]
    tokens: int
    budget: int
    memories: MemoryBlock
    """The memories that the prompt contains, and the reasons why others were left out."""
    notice: Notice | None = None
    """A message to the user if the newest message had to be shortened."""
    reply: str = ""
    """The fixed reply to a question for something that the assistant can't know by itself and that
    the prompt doesn't contain. If empty, the model answers."""


def load_prompt(name: str) -> str:
    """Load a prompt that ships with the project, from `data/prompts`."""
    return (files("data") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def language_name(code: str) -> str:
    """Return the English name of a language, e.g. "German" for `de`. For `auto`, return "the user's
    language"."""
    if code == "auto":
        return "the user's language"
    names = dict(pair.split() for pair in LANGUAGES.split(", "))
    return names.get(code.lower().partition("-")[0], f"the language {code}")


def system_prompt(persona: Persona) -> str:
    """Return the built-in instructions for the persona, followed by the user's own instructions."""
    template = Template(load_prompt("system"))
    built_in = template.safe_substitute(name=persona.name, language=language_name(persona.language))
    own = persona.instructions.strip()
    return f"{built_in}\n{own}" if own else built_in


def summary_text(summary: str) -> str:
    """Return a summary as it is appended to the system message."""
    return f"\n\n{SUMMARY_OPENING}{summary}"


class ProfilePart:
    """The end of the system prompt, with memories about the user that every prompt contains. When
    they change, the model must re-read the whole prompt. This is rare, and happens while nobody is
    waiting.

    Args:
        memories: returns the memories; must return the same object until they change.
        count: counts the tokens of a text.
        most: maximum number of tokens of this part.
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
        """Return the text to append to the system prompt; empty if there are no memories."""
        memories = self._memories()
        if memories != self._read:
            block = profile_block(memories, self._count, self._most)
            self._read, self._text = memories, f"\n\n{block}" if block else ""
        return self._text

    def memories(self) -> list[str]:
        """Return the texts of the memories that `text` contains in full."""
        text = self.text()
        return [memory.text for memory in self._read if sanitised(memory.text) in text]


def date_line(now: datetime) -> str:
    """Return a short line with the date and time. It takes about 20 tokens, because most
    vocabularies have one token per digit.

    The line is a sentence in round brackets. Small models repeat a bare date in square brackets at
    the beginning of their answer.
    """
    weekday, month = WEEKDAYS[now.weekday()], MONTHS[now.month - 1]
    return f"(It is {weekday} {now.day} {month} {now.year} {now.hour:02}:{now.minute:02}.)"


def state_line(state: str) -> str:
    """Return what the model is told about an open form or task, as a part of the newest message."""
    return f"({state.strip()})" if state.strip() else ""


def joined(*parts: str) -> str:
    """Return the non-empty parts, one per line."""
    return "\n".join(part for part in parts if part)
