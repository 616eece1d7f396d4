"""Measures how well forms are filled in from what people say.

Each dialogue runs through the product's own form, with a store in RAM, but without sound. No
language model answers, so only the filling is measured. Since a form never reads the conversation's
history, the size of the conversation's window makes no difference.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from assistant.context.conversation import Exchange
from assistant.events import Event
from assistant.forms.definition import Form, FormLibrary
from assistant.forms.filling import FormReader
from assistant.forms.open_form import OpenForm
from assistant.forms.values import Value
from assistant.intents.command import Command, CommandKind
from assistant.memory.transcript.database import Transcript
from assistant.skills.activities.form_activity import FormActivity
from assistant.state import EntryKind, StateStore
from models.interfaces import LanguageModel
from scripts.common.program import Figures
from scripts.common.statistics import ratio, rounded
from scripts.eval.form_dialogues import Dialogue, is_right

OWN_FORMS = Path("no-such-folder")
"""A folder that doesn't exist, so that only the shipped forms are used."""
FIRST_HOUR = 10


@dataclass
class Filling:
    """How a dialogue went.

    Attributes:
        values: what is in the form at the end.
        lost: number of times that a filled slot was empty after a later turn.
        untraced: number of changes that are not in the history.
        without_model: number of utterances that needed no answer from the language model.
        tokens: the largest number of tokens in the form's part of the prompt; 0 if not counted.
        seconds: how long it took to read each utterance.
        told: lines for a person: what each turn filled in.
    """

    dialogue: Dialogue
    values: Mapping[str, Value] = field(default_factory=dict)
    lost: int = 0
    untraced: int = 0
    without_model: int = 0
    tokens: int = 0
    seconds: list[float] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


class Filler:
    """Fills in the forms of dialogues.

    Args:
        llm: counts the tokens in the form's part of the prompt; None to count nothing.
    """

    def __init__(self, library: FormLibrary, reader: FormReader, llm: LanguageModel | None) -> None:
        self._library = library
        self._reader = reader
        self._llm = llm

    async def filled(self, dialogue: Dialogue) -> Filling:
        """Run a dialogue. Raises StoreError, ModelError."""
        start = datetime.combine(dialogue.today, datetime.min.time()).astimezone()
        clock = start + timedelta(hours=FIRST_HOUR)
        watching: list[Callable[[Event], None]] = []
        store = StateStore(
            Transcript.in_ram(),
            "user",
            lambda event: [each(event) for each in watching],
            now=lambda: clock,
        )
        done = Filling(dialogue)
        activity = FormActivity(
            self._library, store, lambda: False, self._reader, now=lambda: clock
        )
        watching.append(activity.watch)
        await activity.open(Command(CommandKind.FORM_OPEN, name=dialogue.form.title))
        for number, turn in enumerate(dialogue.turns):
            clock += timedelta(minutes=1)
            form = _form(store, dialogue.form)
            slot = dialogue.form.slot(turn.asked)
            activity.answered(f"before {number}", slot.ask if slot is not None else "")
            before, told = form.values(), _changes(store, form)
            done.told.append(f"  [{turn.asked}] {turn.user}")
            begun = time.perf_counter()
            act = await activity.takes(turn.user)
            done.seconds.append(time.perf_counter() - begun)
            if act is not None:
                done.without_model += 1
                await act()
            else:
                await activity.hear(Exchange(str(number), number, turn.user, clock))
            form = _form(store, dialogue.form)
            _check(done, before, told, form, store)
            if self._llm is not None:
                done.tokens = max(done.tokens, self._llm.count(activity.block()))
        done.values = form.values()
        return done


def _form(store: StateStore, form: Form) -> OpenForm:
    found = OpenForm.unfinished(store, form)
    assert found is not None
    return found


def _changes(store: StateStore, form: OpenForm) -> dict[str, int]:
    return {
        str(each.content["slot"]): len(store.changes(each.id))
        for each in store.entries(EntryKind.SLOT, form.key)
    }


def _check(
    done: Filling,
    before: Mapping[str, Value],
    logged: Mapping[str, int],
    form: OpenForm,
    store: StateStore,
) -> None:
    """Count the values that a turn lost or changed without a trace, and note what it filled in."""
    now, now_logged = form.values(), _changes(store, form)
    for name, value in before.items():
        if name not in now:
            done.lost += 1
        elif now[name] != value and now_logged[name] == logged[name]:
            done.untraced += 1
    done.told += [
        f"      → {name} = {value!r}" for name, value in now.items() if before.get(name) != value
    ]


# -- figures ------------------------------------------------------------------------------------


def figures(fillings: Sequence[Filling]) -> Figures:
    expected: Counter[str] = Counter()
    right: Counter[str] = Counter()
    wrong = missing = taken = 0
    for each in fillings:
        for name, gold in each.dialogue.gold.items():
            kind = _type(each, name)
            expected[kind] += 1
            if is_right(each.values.get(name), gold):
                right[kind] += 1
            elif name in each.values:
                wrong += 1
            else:
                missing += 1
        taken += len(each.values.keys() - each.dialogue.gold.keys())
    turns = sum(len(each.dialogue.turns) for each in fillings)
    seconds = [one for each in fillings for one in each.seconds]
    return {
        "dialogues": len(fillings),
        "utterances": turns,
        "slots": expected.total(),
        "right": rounded(ratio(right.total(), expected.total()), 3),
        "by_type": {
            kind: {"slots": count, "right": rounded(ratio(right[kind], count), 3)}
            for kind, count in sorted(expected.items())
        },
        "wrong": wrong,
        "missing": missing,
        "filled_though_not_said": taken,
        "lost": sum(each.lost for each in fillings),
        "changed_without_trace": sum(each.untraced for each in fillings),
        "block_tokens_max": max((each.tokens for each in fillings), default=0),
        "without_model": rounded(ratio(sum(each.without_model for each in fillings), turns), 3),
        "reading_ms": rounded(1000 * median(seconds)),
    }


def mistakes(fillings: Sequence[Filling]) -> list[str]:
    """What is wrong at the end of the dialogues, as lines of text."""
    lines = []
    for number, each in enumerate(fillings, 1):
        for name in dict.fromkeys([*each.dialogue.gold, *each.values]):
            gold: Any = each.dialogue.gold.get(name, "empty")
            if name not in each.dialogue.gold or not is_right(each.values.get(name), gold):
                lines.append(f"{number} {name}: {each.values.get(name)!r}, not {gold!r}")
    return lines


def _type(filling: Filling, name: str) -> str:
    slot = filling.dialogue.form.slot(name)
    assert slot is not None
    return slot.type.value
