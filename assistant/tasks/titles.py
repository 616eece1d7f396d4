"""What a task is called in sentences. English only; other names are quoted unchanged."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.language.second_person import spoken_topic
from assistant.language.stemming import TextAnalyzer
from assistant.tasks.task import Task

_AROUND = re.compile(
    r"^(?:please|to|let's|lets|us|me)\s+|\s+(?:with (?:you|me)|together|step by step|please|now)$",
    re.IGNORECASE,
)
_VERBS = {
    "plan": "planning",
    "organise": "organising",
    "organize": "organizing",
    "prepare": "preparing",
    "arrange": "arranging",
    "design": "designing",
    "work out": "working out",
    "sort out": "sorting out",
    "figure out": "figuring out",
    "put together": "putting together",
    "work on": "working on",
    "set up": "setting up",
    "make": "making",
    "draw up": "drawing up",
    "write": "writing",
    "build": "building",
}
_MISHEARD = re.compile(r"^plan(?:e|ing)\b(?! (?:ride|ticket))", re.IGNORECASE)
_THING = re.compile(r"(?:the|a|an|my|our|his|her|their|this|that|some|\w+'s|\d+)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Title:
    """A task's name in the second person. `do` and `doing` are two forms of a verb phrase: "plan
    your party", "planning your party". `what` is what the task is about: "your party"."""

    do: str
    doing: str
    what: str


def plain_name(words: str) -> str:
    """Return the name of a task as it is stored; empty if the words name none."""
    name = " ".join(words.replace("’", "'").split()).strip(" .,!?;:")
    while (inner := _AROUND.sub("", name).strip(" .,")) != name:
        name = inner
    return name


def title(name: str, *, english: bool = True) -> Title:
    """Return what a task is called.

    >>> title("plan my retirement party").doing
    'planning your retirement party'
    """
    if not english:
        return Title(f"work on this: {name}", f"working on this: {name}", name)
    verb, doing, what = _parts(name)
    if not verb:
        quoted = f'"{what}"'
        return Title(f"work on this: {what}", f"working on this: {what}", quoted)
    about = spoken_topic(what)
    return Title(f"{verb} {about}", f"{doing} {about}", about)


def topic(name: str) -> str:
    """Return what a task is about, in the user's words: "my retirement party"."""
    return _parts(name)[2]


def called(name: str, tasks: Sequence[Task], lexicon: TextAnalyzer) -> Task | None:
    """Return the task that a name means: the most recently used task whose name contains all
    content words of that name."""
    wanted = lexicon.content_and_numbers(topic(name))
    for task in reversed(tasks):
        have = lexicon.content_and_numbers(topic(task.name))
        if task.name.casefold() == name.casefold() or (wanted and wanted <= have):
            return task
    return None


def _parts(name: str) -> tuple[str, str, str]:
    """Return a name's verb, the verb's "-ing" form, and what the task is about. Both forms are
    empty if the name can't be put into a sentence."""
    said = _MISHEARD.sub("plan", name)
    for verb, doing in _VERBS.items():
        for form in (f"{doing} of", doing, verb):
            if said.lower().startswith(f"{form} "):
                return verb, doing, said[len(form) + 1 :].removeprefix("of ")
    if _THING.match(said) or said[:1].isupper():
        return "plan", "planning", said
    return "", "", said
