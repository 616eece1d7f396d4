"""Decides what an exchange settles about a task."""

from dataclasses import dataclass

from assistant.context import Exchange
from assistant.tasks.merging import Merging
from assistant.tasks.proposals import stated
from assistant.tasks.settling import Candidate, candidates
from assistant.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Settled:
    """What an exchange settles about a task, and whether it was about the task at all."""

    found: tuple[Candidate, ...]
    about: bool


def settled(
    task: Task, exchange: Exchange, before: str, merging: Merging, *, on_topic: bool
) -> Settled:
    """Return what an exchange settles. Has no side effects.

    A candidate counts if it is `certain` or `ours`, if it shares a word with the task, its lines or
    the assistant's words, or if it shares a number with the assistant's answer. A `bare` one counts
    only if the assistant's answer repeats it. A candidate that only names the task, or says what
    others do, doesn't count.

    Args:
        before: the assistant's words to which the exchange replies.
        on_topic: whether the previous exchange was about the task. If not, an `offered` candidate
            counts only if it shares a word with the task or its lines.
    """
    known = [task.name, *(line.text for line in task.lines)]
    said, answer = exchange.user_text, stated(exchange.assistant_text)
    found = []
    for each in candidates(said, before):
        if each.others or merging.repeats(task.name, each.text):
            continue
        if each.offered and not on_topic:
            settles = merging.related(each.text, known)
        elif each.bare:
            settles = merging.repeats(answer, each.text)
        else:
            settles = each.certain or each.ours
            settles = settles or merging.related(each.text, [*known, before, answer])
            settles = settles or merging.names_same_number(each.text, answer)
        if settles:
            found.append(each)
    return Settled(tuple(found), bool(found) or merging.related(said, known))
