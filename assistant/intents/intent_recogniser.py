"""Decides what an utterance asks of the assistant itself, and how sure that is.

The grammar is asked first. If it recognises a command, that usually settles it. Otherwise, a
classifier judges the meaning, and `THRESHOLDS` decides which probabilities are high enough. If the
command deletes, corrects, takes back a wish or asks what is known, the classifier is consulted too:
if it contradicts the grammar, the user is asked."""

import asyncio
import logging
import re
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from assistant.context import NOT_ONLINE, NOT_THERE, NOT_TOLD, WITH_TOOLS, NotKnown
from assistant.intents.answers import chosen
from assistant.intents.command import ARGUMENTS, PERIODS, Command, CommandKind, Intent
from assistant.intents.grammar import language
from assistant.intents.periods import period
from assistant.intents.recogniser import ENGLISH, in_full, recognise
from assistant.language.dialogue_acts import FIRST_PERSON, is_question
from assistant.language.sentences import sentences
from models.interfaces import ClassifiedText, IntentClassifier

logger = logging.getLogger(__name__)

DEADLINE_S = 0.1
"""Seconds to wait for the classifier's answer before the turn goes on without it. Normally the
answer takes a few milliseconds."""
LOADING_S = 3.0
"""Seconds to wait for a classifier that is still being loaded, which takes less than one second.
Typed input may begin at the very start of a session."""
NEVER = 1.01
"""A threshold that no probability reaches."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Probabilities that a kind of command must reach.

    Attributes:
        sure: the command is carried out if its probability is at least this.
        asked: if the probability is at least this, the user is asked whether it is meant.
        doubted: if the probability is below this, the user is asked even if the grammar has
            recognised the command. At 0, the grammar alone is enough.
    """

    sure: float
    asked: float
    doubted: float = 0.0


THRESHOLDS: Mapping[CommandKind, Threshold] = {
    CommandKind.STOP: Threshold(sure=0.99, asked=0.3),
    CommandKind.REPEAT: Threshold(sure=0.9, asked=0.47),
    CommandKind.SLEEP: Threshold(sure=0.9, asked=0.3),
    CommandKind.WAKE: Threshold(sure=0.95, asked=0.54),
    CommandKind.FORGET_THAT: Threshold(sure=NEVER, asked=0.3, doubted=0.5),
    CommandKind.FORGET_SPAN: Threshold(sure=NEVER, asked=0.44, doubted=0.5),
    CommandKind.FORGET_TODAY: Threshold(sure=NEVER, asked=0.44, doubted=0.5),
    CommandKind.FORGET_CONVERSATION: Threshold(sure=NEVER, asked=0.3, doubted=0.5),
    CommandKind.FORGET_ABOUT: Threshold(sure=NEVER, asked=0.53, doubted=0.5),
    CommandKind.FORGET_ALL: Threshold(sure=NEVER, asked=0.3, doubted=0.5),
    CommandKind.UNDO: Threshold(sure=0.9, asked=0.3),
    CommandKind.KNOW: Threshold(sure=0.99, asked=0.58, doubted=0.05),
    CommandKind.OFF_RECORD: Threshold(sure=0.95, asked=0.3),
    CommandKind.ON_RECORD: Threshold(sure=0.9, asked=0.3),
    CommandKind.FORGET_PERIOD: Threshold(sure=NEVER, asked=0.3, doubted=0.5),
    CommandKind.REMEMBER: Threshold(sure=0.99, asked=0.47),
    CommandKind.CORRECT: Threshold(sure=0.92, asked=0.47, doubted=0.5),
    CommandKind.WHY: Threshold(sure=0.98, asked=0.85),
    CommandKind.WHEN_TOLD: Threshold(sure=0.9, asked=0.36),
    CommandKind.LIFT: Threshold(sure=0.9, asked=0.33, doubted=0.3),
    CommandKind.TIMER_SET: Threshold(sure=0.9, asked=0.3),
    CommandKind.TIMER_LEFT: Threshold(sure=0.9, asked=0.3),
    CommandKind.TIMER_ADD: Threshold(sure=0.9, asked=0.3),
    CommandKind.TIMER_TAKE: Threshold(sure=0.9, asked=0.3),
    CommandKind.TIMER_PAUSE: Threshold(sure=0.9, asked=0.3),
    CommandKind.TIMER_RESUME: Threshold(sure=0.9, asked=0.3),
    CommandKind.TIMER_CANCEL: Threshold(sure=0.9, asked=0.3),
    CommandKind.ALARM_SET: Threshold(sure=0.9, asked=0.3),
    CommandKind.ALARM_LIST: Threshold(sure=0.9, asked=0.3),
    CommandKind.ALARM_CANCEL: Threshold(sure=0.9, asked=0.3),
    CommandKind.REMINDER_SET: Threshold(sure=0.9, asked=0.3),
    CommandKind.REMINDER_LIST: Threshold(sure=0.9, asked=0.3),
    CommandKind.REMINDER_CANCEL: Threshold(sure=0.9, asked=0.3),
    CommandKind.SNOOZE: Threshold(sure=0.98, asked=0.3),
    CommandKind.LIST_ADD: Threshold(sure=0.9, asked=0.3),
    CommandKind.LIST_READ: Threshold(sure=0.9, asked=0.3),
    CommandKind.LIST_TICK: Threshold(sure=0.9, asked=0.3),
    CommandKind.LIST_REMOVE: Threshold(sure=0.9, asked=0.3),
    CommandKind.LIST_CLEAR: Threshold(sure=0.9, asked=0.3),
    CommandKind.NOTE_ADD: Threshold(sure=0.9, asked=0.3),
    CommandKind.NOTE_READ: Threshold(sure=0.9, asked=0.3),
    CommandKind.NOTE_REMOVE: Threshold(sure=0.9, asked=0.3),
    CommandKind.TIME: Threshold(sure=0.9, asked=0.3),
    CommandKind.DATE: Threshold(sure=0.9, asked=0.3),
    CommandKind.CALCULATE: Threshold(sure=0.9, asked=0.3),
    CommandKind.LOUDER: Threshold(sure=0.9, asked=0.3),
    CommandKind.QUIETER: Threshold(sure=0.9, asked=0.3),
    CommandKind.SLOWER: Threshold(sure=0.9, asked=0.3),
    CommandKind.FASTER: Threshold(sure=0.9, asked=0.3),
    CommandKind.ABILITIES: Threshold(sure=0.99, asked=0.81),
    CommandKind.WHICH_MODEL: Threshold(sure=0.9, asked=0.3),
    CommandKind.FORM_OPEN: Threshold(sure=0.9, asked=0.3),
    CommandKind.TASK_OPEN: Threshold(sure=0.9, asked=0.3),
    CommandKind.FORM_STATUS: Threshold(sure=0.9, asked=0.3),
    CommandKind.FORM_READ: Threshold(sure=0.9, asked=0.3),
    CommandKind.FORM_CANCEL: Threshold(sure=0.9, asked=0.3),
    CommandKind.FORM_DONE: Threshold(sure=0.9, asked=0.3),
    CommandKind.ACT: Threshold(sure=0.9, asked=0.3),
}
"""The thresholds of each kind.

`scripts/eval_commands.py --thresholds` chose `asked` and `sure` on the parts `dev` and `dev2` of
`data/evaluation/intents.jsonl` and on 7,800 utterances of talk: `sure` is above the probabilities
of utterances that are wrongly taken for this kind, and `asked` is as low as possible without too
many questions about ordinary talk. Two were set by hand: `asked` of WHY is .85 instead of .96,
which would miss a fifth of these questions, and `sure` of STOP is .99 instead of `NEVER`. For
WHEN_TOLD, the questions of part `dev` of `data/evaluation/answer_memories.jsonl` counted as talk,
too: "On what date did I send off the form?" asks when something happened, not when it was told.

Nothing is ever deleted because of the classifier alone, since it mistakes negations and quotations
("I'd hate for you to forget that") for commands. Instead, the user is asked. The user is also asked
if the classifier contradicts the grammar about a command that deletes, corrects, takes back a wish
or asks what is known ("What do you know about volcanoes?")."""

LIKELIER = 4.0
"""While a form is open, commands about it count as this many times likelier than usual. "Read it
back" then means the form, whereas it otherwise means what was said last."""
ABOUT_USER = 0.5
"""Minimum probability at which a question counts as asking about the user's life. Only then are
memories judged by whether they answer it. For other questions, a memory may help without being the
answer, e.g. the user's allergy to peanuts if the question is whether a dish is healthy."""
ASKS_ADVICE = re.compile(r"\b(should|shall|could|would|can|may)\b", re.IGNORECASE)
"""Matches questions that don't ask for a fact of the user's life, even if they are about it."""
TOLD = 0.9
"""Minimum probability at which an utterance counts as asking for something that the assistant could
only know from the user. Chosen with `scripts/eval_knowable.py` on part `dev`, so that few general
questions reach it; `not_known.applicable` excludes most of these."""
UNKNOWABLE = 0.7
"""Minimum probability at which an utterance counts as asking for something that the assistant can't
know. Chosen with `scripts/eval_knowable.py` on part `dev`, so that hardly any question that the
assistant can answer reaches it."""
NEED_WORDS = frozenset({CommandKind.FORGET_ABOUT, CommandKind.FORGET_PERIOD})
"""Kinds of commands that mean nothing without their argument `words`."""


class Recognised(NamedTuple):
    """What was recognised in an utterance.

    Attributes:
        intent: what the utterance asks of the assistant itself; None if it asks nothing.
        classified: the classifier's result; None if it wasn't asked, or didn't answer.
    """

    intent: Intent | None
    classified: ClassifiedText | None = None


class IntentRecogniser:
    """Recognises intents. Use it only on the event loop.

    Recognition adds at most a few milliseconds to a turn's latency. The grammar takes well under
    one millisecond. The classifier runs on a thread of its own, so that it never waits behind other
    work and never blocks the event loop. Spoken words are passed in at the first hint of silence,
    while the turn detector is still deciding whether the user will go on. So even these
    milliseconds go unnoticed. After `DEADLINE_S`, the turn goes on without the classifier. Only at
    the start of a session, words wait longer, until the classifier has been loaded (`LOADING_S`).

    Args:
        classifier: None if there is no model, or none for this language. The grammar then decides
            alone.
    """

    def __init__(self, classifier: IntentClassifier | None = None) -> None:
        self._classifier = classifier
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="intents")
        self._loading: asyncio.Future[None] | None = None
        self._ready = False
        self._failed = False

    async def load(self) -> None:
        """Load the grammar and the classifier. Until this has begun, the classifier isn't asked. If
        it can't be loaded, this is logged, and the grammar alone recognises commands."""
        self._loading = asyncio.get_running_loop().create_future()
        try:
            await self._load()
        finally:
            self._loading.set_result(None)

    async def _load(self) -> None:
        on_thread = partial(asyncio.get_running_loop().run_in_executor, self._thread)
        await on_thread(_load_rules)
        if self._classifier is None:
            return
        try:
            await on_thread(self._classifier.load)
            self._ready = True
        except Exception:  # whatever it is, the assistant works without the classifier
            logger.exception("the intent classifier can't be loaded")

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def recognise(
        self,
        text: str,
        names: tuple[str, ...] = (),
        expected: Collection[CommandKind] = (),
    ) -> Recognised:
        """Return what `text` asks of the assistant itself, if anything.

        Args:
            names: the assistant's name and wake phrase.
            expected: kinds that are likelier now than usual, e.g. those about an open form.
        """
        command = recognise(text, names)
        classified = await self._classified(text) if is_classified(command) else None
        found = classified
        if found is not None and expected:
            found = replace(found, probabilities=_expecting(found.probabilities, expected))
        return Recognised(intent_of(command, found, text), classified)

    async def _classified(self, text: str) -> ClassifiedText | None:
        """Return the classifier's result for `text`; None if it doesn't answer."""
        if self._classifier is None or self._loading is None or not text.strip():
            return None
        if not self._loading.done():
            await asyncio.wait([self._loading], timeout=LOADING_S)
        if not self._ready:
            return None
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(DEADLINE_S):
                return await loop.run_in_executor(self._thread, self._classifier.classify, text)
        except TimeoutError:
            logger.warning("the intent classifier missed its deadline")
        except Exception:  # a failure of the classifier must not stop the turn
            if not self._failed:  # it may fail at every turn
                self._failed = True
                logger.exception("the intent classifier failed")
        return None


def _load_rules() -> None:
    """Compile the grammar, and the rules for times and answers. This takes some tens of
    milliseconds, for which no turn should have to wait. Blocks."""
    language(ENGLISH)
    period("yesterday", datetime.now(UTC))
    chosen("the code", ("my code",))


def is_classified(command: Command | None) -> bool:
    """Return whether to ask the classifier, too. `command` is what the grammar has recognised, if
    anything."""
    return command is None or THRESHOLDS[_classified_kind(command)].doubted > 0


def not_known(text: str, found: ClassifiedText | None, *, tools: bool = False) -> NotKnown | None:
    """Return a `NotKnown` if an utterance asks for something that the assistant can't know by
    itself; otherwise None.

    Its reply is empty if the language model should answer. It should if the text isn't just one
    question, since other parts may ask for something else, or if it is a question about the user's
    life whose answer need not come from the user.

    Args:
        found: the classifier's result; None if it wasn't asked, or didn't answer.
        tools: whether other programs provide tools. If so, the reply must not say that the
            assistant has no way to find out.
    """
    if found is None:
        return None
    single = len(sentences(text, semicolons=True)) <= 1 and is_question(text)
    unknowable = found.unknowable >= UNKNOWABLE
    least = TOLD if unknowable else ABOUT_USER
    own = not unknowable or (found.unseen > found.live and FIRST_PERSON.search(text))
    if single and own and found.told >= least and not ASKS_ADVICE.search(text):
        return NotKnown(NOT_TOLD if found.told >= TOLD else "", about_user=True)
    if not unknowable:
        return None
    if not single:
        return NotKnown("")
    if tools:
        return NotKnown(WITH_TOOLS)
    return NotKnown(NOT_ONLINE if found.live >= found.unseen else NOT_THERE)


def intent_of(command: Command | None, found: ClassifiedText | None, text: str) -> Intent | None:
    """Combine the results of the grammar and the classifier. Return None if the utterance asks
    nothing of the assistant itself.

    Args:
        command: the command that the grammar has recognised, if any.
        found: the classifier's result. If it wasn't asked, or didn't answer, this is None, and the
            grammar decides alone.
    """
    if command is None:
        return _likeliest(found, text) if found is not None else None
    kind = _classified_kind(command)
    agreed = found is None or found.probabilities.get(kind.value, 0.0) >= THRESHOLDS[kind].doubted
    return Intent(command, sure=agreed)


def _classified_kind(command: Command) -> CommandKind:
    """Return the classifier's kind for a command. The classifier has one kind for all periods."""
    return CommandKind.FORGET_PERIOD if command.kind in PERIODS else command.kind


def _expecting(
    probabilities: Mapping[str, float], expected: Collection[CommandKind]
) -> dict[str, float]:
    """Recalculate the probabilities as if the expected kinds were `LIKELIER` times as frequent as
    in the classifier's training data."""
    weighted = {
        kind: probability * (LIKELIER if kind in expected else 1.0)
        for kind, probability in probabilities.items()
    }
    total = sum(weighted.values()) + max(1.0 - sum(probabilities.values()), 0.0)
    return {kind: weight / total for kind, weight in weighted.items()}


def _likeliest(found: ClassifiedText, text: str) -> Intent | None:
    """Return the likeliest intent if it reaches one of its thresholds; otherwise None.

    An argument is never invented: words that are not in the utterance are dropped, and so is a
    command that is then left without the words that it needs.
    """
    known = {kind: found.probabilities.get(kind.value, 0.0) for kind in THRESHOLDS}
    kind = max(known, key=lambda each: known[each])
    threshold, probability = THRESHOLDS[kind], known[kind]
    if probability < min(threshold.sure, threshold.asked):
        return None
    arguments = {
        slot: said
        for slot in ARGUMENTS.get(kind, ())
        if (said := getattr(found, slot)) and said in text
    }
    if kind in NEED_WORDS and "words" not in arguments:
        return None
    return Intent(in_full(Command(kind, **arguments), text), sure=probability >= threshold.sure)
