"""The skill that says what the assistant can do, what it can't, and which language model it runs
on."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Protocol

from assistant.intents import Command, CommandKind
from assistant.skills.skill import Reply

ABILITIES: tuple[tuple[str, tuple[tuple[CommandKind, str], ...]], ...] = (
    (
        "set",
        (
            (CommandKind.TIMER_SET, "timers"),
            (CommandKind.ALARM_SET, "alarms"),
            (CommandKind.REMINDER_SET, "reminders"),
        ),
    ),
    ("keep", ((CommandKind.LIST_ADD, "lists"), (CommandKind.NOTE_ADD, "notes"))),
    ("remember things for you", ((CommandKind.CORRECT, ""),)),
    ("tell you", ((CommandKind.TIME, "the time"), (CommandKind.DATE, "the date"))),
    ("work out", ((CommandKind.CALCULATE, "sums"),)),
    ("fill in", ((CommandKind.FORM_OPEN, "forms with you"),)),
    ("plan things with you", ((CommandKind.TASK_OPEN, ""),)),
)
"""What the assistant can do: verbs with their objects. An object is mentioned only if a skill
carries out its kind of command. CORRECT stands for the long-term memory: only a session that has
one has a skill for CORRECT."""
MAIN = 3
"""Maximum number of abilities in a refusal, and in the first sentence of the full answer."""
TALK = "I can talk with you, and answer questions from what my language model knows."
LIMITS = "I'm not connected to the internet, and I can't control other apps or devices."
LIMITS_REMOTE = "I can't search the internet, and I can't control other apps or devices."
CANT = "I can't do that."
CANT_AGAIN = "I can't do that, sorry."
WANT_ABILITIES = "Do you want to know what I can do?"
WANT_MODEL = "Do you want to know which language model I run on?"

_PARAMETERS = re.compile(r"\s+(\d+(?:\.\d+)?)([MB])\b.*")
"""Matches the number of parameters in a model's title, and everything after it."""
_FAMILY = re.compile(r"(?<=[A-Za-z])(?=\d)")
"""Matches the place between letters and a version number: "Qwen2.5", "SmolLM2"."""
_UNITS = {"M": "million", "B": "billion"}


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """The language model that was loaded, and where the user's words go.

    Attributes:
        title: its title in the catalogue ("Qwen2.5-Coder 1.5B Instruct"), or else the name of the
            user's own file, or the name that its server gives it. Empty if the server gives none.
        server: the host of the server that runs it; empty if this program runs it itself.
        store: whether memories are kept in an object store, i.e. on another computer.
        tools: whether there are tools of other programs, which may pass the user's words on to
            other computers.
    """

    title: str
    server: str = ""
    store: bool = False
    tools: bool = False

    @property
    def local(self) -> bool:
        """Whether this program sends nothing that the user says to another computer."""
        here = not self.server or is_here(self.server)
        return here and not self.store and not self.tools


class OtherTools(Protocol):
    """Tools of other programs."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the programs."""

    async def act(self, text: str, *, sure: bool) -> Reply | None:
        """Do what an utterance asks for. Return None if no tool can."""


class Abilities:
    """Says what the assistant can do and which language model it runs on, and refuses requests that
    neither a skill nor a tool can carry out.

    Args:
        kinds: returns the kinds of commands that the session's skills carry out.
        model: returns the language model in use.
        tools: tools of other programs, which do what no skill can; None if there are none.
    """

    kinds = frozenset({CommandKind.ABILITIES, CommandKind.WHICH_MODEL, CommandKind.ACT})

    def __init__(
        self,
        kinds: Callable[[], Collection[CommandKind]],
        model: Callable[[], ModelInUse],
        tools: OtherTools | None = None,
    ) -> None:
        self._kinds = kinds
        self._model = model
        self._tools = tools
        self._refused = False
        """Whether a refusal has named the abilities in this session."""

    async def carry_out(self, command: Command) -> Reply | None:
        match command.kind:
            case CommandKind.ABILITIES:
                return await self._describe()
            case CommandKind.WHICH_MODEL:
                return await self._name_model()
        return await self._use_tool(command, sure=True) or self._refuse()

    async def ask(self, command: Command) -> Reply | None:
        """Ask whether the user wants to hear the answer. An utterance that might not be a request
        is never refused: if no tool of another program fits, the language model answers it."""
        match command.kind:
            case CommandKind.ABILITIES:
                return Reply(WANT_ABILITIES, if_yes=self._describe)
            case CommandKind.WHICH_MODEL:
                return Reply(WANT_MODEL, if_yes=self._name_model)
        return await self._use_tool(command, sure=False)

    async def _use_tool(self, command: Command, *, sure: bool) -> Reply | None:
        if self._tools is None or command.words is None:
            return None
        return await self._tools.act(command.words, sure=sure)

    async def _describe(self) -> Reply:
        found, limits = abilities(self._kinds()), self._limits()
        if not found:
            return Reply(f"{TALK} {limits}", lasts=True)
        sentences = [f"I can {_listed(found[:MAIN])}."]
        if found[MAIN:]:
            sentences.append(f"I can also {_listed(found[MAIN:])}.")
        return Reply(" ".join([*sentences, limits]), lasts=True)

    def _limits(self) -> str:
        """Name the programs whose tools can be used. If there are none, say what can't be done."""
        names = self._tools.names if self._tools is not None else ()
        if names:
            return f"And I can use the tools of {_listed(names)}."
        return LIMITS if self._model().local else LIMITS_REMOTE

    async def _name_model(self) -> Reply:
        return Reply(spoken_model(self._model()), lasts=True)

    def _refuse(self) -> Reply:
        found = abilities(self._kinds())[:MAIN]
        if self._refused or not found:
            return Reply(CANT_AGAIN, lasts=True)
        self._refused = True
        return Reply(f"{CANT} I can {_listed(found)}.", lasts=True)


def abilities(kinds: Collection[CommandKind]) -> list[str]:
    """Return what the assistant can do if it carries out commands of these kinds.

    >>> abilities({CommandKind.TIMER_SET, CommandKind.ALARM_SET, CommandKind.CORRECT})
    ['set timers and alarms', 'remember things for you']
    """
    found: list[str] = []
    for verb, objects in ABILITIES:
        named = [name for kind, name in objects if kind in kinds]
        if named:
            found.append(f"{verb} {_listed(named)}".strip())
    return found


def spoken_model(model: ModelInUse) -> str:
    """Return sentences that say which language model runs, and where.

    >>> spoken_model(ModelInUse("Qwen2.5-Coder 1.5B Instruct"))
    'I run on Qwen 2.5 Coder, with 1.5 billion parameters, on this computer. Nothing you say leaves\
 it.'
    """
    name = spoken_title(model.title) or "a language model whose name I don't know"
    if model.server and not is_here(model.server):
        return f"I run on {name}, on the server {model.server}. What you say is sent there."
    place = "a server on this computer" if model.server else "this computer"
    where = f"I run on {name}, on {place}."
    if (model.server or model.tools) and not model.store:
        return where  # it is unknown what that server, or those programs, do with the words
    if model.store:
        return f"{where} Your memories are kept on another computer, as your settings say."
    return f"{where} Nothing you say leaves it."


def is_here(host: str) -> bool:
    """Return whether a host's name or address is that of this computer itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def spoken_title(title: str) -> str:
    """Return a model's title in words that can be read aloud, without anything after its size.

    >>> spoken_title("Qwen3 1.7B"), spoken_title("my-model")
    ('Qwen 3, with 1.7 billion parameters', 'my model')
    """
    size = _PARAMETERS.search(title)
    name = title[: size.start()] if size else title
    words = _FAMILY.sub(" ", re.sub(r"[-_:/\s]+", " ", name)).strip()
    if size is None:
        return words
    return f"{words}, with {size[1]} {_UNITS[size[2]]} parameters"


def _listed(names: Sequence[str]) -> str:
    """Join phrases with commas and "and". If a phrase contains "and", a comma precedes the last
    "and".

    >>> _listed(["set timers and alarms", "keep lists"]), _listed(["lists", "notes"])
    ('set timers and alarms, and keep lists', 'lists and notes')
    """
    if len(names) < 2:
        return "".join(names)
    nested = any(" and " in name for name in names)
    return f"{', '.join(names[:-1])}{',' if nested else ''} and {names[-1]}"
