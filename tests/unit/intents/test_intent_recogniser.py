"""The grammar decides first, then the classifier, by how much a mistake would harm."""

import asyncio
import threading
import time
from dataclasses import dataclass, field, replace

import pytest

from assistant.context.not_known import NOT_ONLINE, NOT_THERE, NOT_TOLD, WITH_TOOLS, NotKnown
from assistant.errors import ModelFailed, ModelMissing
from assistant.intents import intent_recogniser
from assistant.intents.command import ABOUT_OPEN, DELETING, Command, CommandKind, Intent
from assistant.intents.intent_recogniser import (
    ABOUT_USER,
    THRESHOLDS,
    TOLD,
    UNKNOWABLE,
    IntentRecogniser,
    Recognised,
    intent_of,
    not_known,
)
from models.interfaces import ClassifiedText
from tests.support.patience import PATIENCE_S

BIN = "Bin what I said about my locker."
LOCKER = Command(CommandKind.FORGET_ABOUT, "my locker")


LIKELY = ClassifiedText({"forget_about": 0.8}, "my locker")


@dataclass
class Classifier:
    """Takes everything for the same."""

    found: ClassifiedText = LIKELY
    missing: bool = False
    fails: bool = False
    takes_s: float = 0.0
    may_load: threading.Event | None = None
    asked: list[str] = field(default_factory=list)

    def load(self) -> None:
        if self.missing:
            raise ModelMissing("It isn't here.")
        if self.may_load is not None:
            assert self.may_load.wait(PATIENCE_S)

    def classify(self, text: str) -> ClassifiedText:
        assert threading.current_thread() is not threading.main_thread()
        self.asked.append(text)
        time.sleep(self.takes_s)
        if self.fails:
            raise ModelFailed("It broke.")
        return self.found


async def loaded(classifier: Classifier | None) -> IntentRecogniser:
    recogniser = IntentRecogniser(classifier)
    await recogniser.load()
    return recogniser


async def test_what_the_grammar_knows_is_sure_and_not_classified() -> None:
    classifier = Classifier()
    recogniser = await loaded(classifier)
    assert (await recogniser.recognise("Stop.")).intent == Intent(Command(CommandKind.STOP))
    assert classifier.asked == []
    assert (await recogniser.recognise(BIN)).intent == Intent(LOCKER, sure=False)
    recogniser.close()


async def test_words_wait_for_a_classifier_that_is_being_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intent_recogniser, "DEADLINE_S", 0.01)  # for judging, not for loading
    may_load = threading.Event()
    recogniser = IntentRecogniser(Classifier(may_load=may_load))
    assert (await recogniser.recognise(BIN)).classified is None, "nothing is being loaded yet"
    loading = asyncio.create_task(recogniser.load())
    recognising = asyncio.create_task(recogniser.recognise(BIN))
    await asyncio.sleep(0.1)
    assert not recognising.done()
    may_load.set()
    assert (await recognising).intent == Intent(LOCKER, sure=False)
    await loading
    recogniser.close()


async def test_words_do_not_wait_for_ever_nor_for_a_classifier_that_cannot_be_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intent_recogniser, "LOADING_S", 0.01)
    may_load = threading.Event()
    recogniser = IntentRecogniser(Classifier(may_load=may_load))
    loading = asyncio.create_task(recogniser.load())
    await asyncio.sleep(0)
    assert (await recogniser.recognise(BIN)) == Recognised(None, None)
    may_load.set()
    await loading
    recogniser.close()

    recogniser = IntentRecogniser(Classifier(missing=True))
    loading = asyncio.create_task(recogniser.load())
    await asyncio.sleep(0)
    assert (await recogniser.recognise(BIN)) == Recognised(None, None)
    await loading
    recogniser.close()


async def test_what_is_expected_is_likelier_and_the_rest_less_likely() -> None:
    heard = ClassifiedText({"repeat": 0.53, "form_read": 0.22})
    recogniser = await loaded(Classifier(heard))
    usual = (await recogniser.recognise("Read it back.")).intent
    assert usual == Intent(Command(CommandKind.REPEAT), sure=False)
    with_a_form_open = (await recogniser.recognise("Read it back.", (), ABOUT_OPEN)).intent
    assert with_a_form_open == Intent(Command(CommandKind.FORM_READ), sure=False)
    recogniser.close()
    talk = await loaded(Classifier(ClassifiedText({"form_done": 0.05})))
    assert (await talk.recognise("It was a long day.", (), ABOUT_OPEN)).intent is None
    talk.close()


async def test_only_what_both_take_for_deleting_is_deleted_without_asking() -> None:
    that = Command(CommandKind.FORGET_THAT)
    for found, sure in (({"forget_that": 0.9}, True), ({"forget_all": 0.9}, False), ({}, False)):
        recogniser = await loaded(Classifier(ClassifiedText(found)))
        assert (await recogniser.recognise("Forget that.")).intent == Intent(that, sure=sure), found
        recogniser.close()
    for alone in (None, Classifier(fails=True), Classifier(missing=True)):
        recogniser = await loaded(alone)
        assert (await recogniser.recognise("Forget that.")).intent == Intent(that), (
            "the grammar suffices"
        )
        recogniser.close()


async def test_what_the_classifier_has_found_is_passed_on_as_it_was_found() -> None:
    heard = ClassifiedText({"form_done": 0.05}, live=0.9)
    recogniser = await loaded(Classifier(heard))
    assert await recogniser.recognise("Any news?", (), ABOUT_OPEN) == Recognised(None, heard)
    assert (await recogniser.recognise("Stop.")).classified is None, "it wasn't asked"
    recogniser.close()


def test_only_to_what_is_probably_unknowable_there_is_a_reply() -> None:
    said, half = "Any news?", UNKNOWABLE / 2
    assert not_known(said, ClassifiedText({}, live=UNKNOWABLE)) == NotKnown(NOT_ONLINE)
    assert not_known(said, ClassifiedText({}, unseen=UNKNOWABLE)) == NotKnown(NOT_THERE)
    both = ClassifiedText({}, live=half - 0.01, unseen=half + 0.01)
    assert not_known(said, both) == NotKnown(NOT_THERE)
    assert not_known(said, replace(both, unseen=half)) is None
    assert not_known(said, ClassifiedText({})) is None
    assert not_known(said, None) is None


@pytest.mark.parametrize(
    ("text", "single"),
    [
        ("Any news?", True),
        ("what's in the fridge", True),
        ("Knock, knock.", False),
        ("Tell me a joke. And what's the weather?", False),
        ("What's the weather? And what's seven times eight?", False),
        ("My interview was awful. Did I get the job?", False),
    ],
)
def test_only_a_single_question_is_answered_without_the_model(text: str, single: bool) -> None:
    found = not_known(text, ClassifiedText({}, live=1.0))
    assert found == NotKnown(NOT_ONLINE if single else "")
    own = not_known(text, ClassifiedText({}, told=1.0))
    assert own == (NotKnown(NOT_TOLD, about_user=True) if single else None)


def test_what_probably_only_the_user_can_have_told_is_said_not_to_be_told_even_with_tools() -> None:
    said, own = "What's my sister called?", NotKnown(NOT_TOLD, about_user=True)
    assert not_known(said, ClassifiedText({}, told=TOLD)) == own
    unsure = NotKnown("", about_user=True)
    assert not_known(said, ClassifiedText({}, told=TOLD - 0.01)) == unsure
    assert not_known(said, ClassifiedText({}, told=ABOUT_USER)) == unsure
    assert not_known(said, ClassifiedText({}, told=ABOUT_USER - 0.01)) is None
    assert not_known(said, ClassifiedText({}, told=TOLD), tools=True) == own
    assert not_known("What should I give my sister?", ClassifiedText({}, told=1.0)) is None
    unseen = ClassifiedText({}, unseen=UNKNOWABLE, told=TOLD)
    assert not_known(said, unseen) == own
    assert not_known(said, replace(unseen, told=TOLD - 0.01)) == NotKnown(NOT_THERE)


def test_with_tools_the_reply_does_not_say_that_there_is_no_way_to_find_out() -> None:
    for found in (ClassifiedText({}, live=1.0), ClassifiedText({}, unseen=1.0)):
        assert not_known("Any news?", found, tools=True) == NotKnown(WITH_TOOLS)
    assert not_known("Any news?", ClassifiedText({}), tools=True) is None


async def test_every_period_is_one_kind_to_the_classifier() -> None:
    recogniser = await loaded(Classifier(ClassifiedText({"forget_period": 0.9})))
    found = (await recogniser.recognise("Forget the last ten minutes.")).intent
    assert found == Intent(Command(CommandKind.FORGET_SPAN, minutes=10))
    recogniser.close()


async def test_without_a_classifier_or_before_it_is_loaded_the_grammar_decides_alone() -> None:
    assert (await (await loaded(None)).recognise(BIN)).intent is None
    assert (await IntentRecogniser(Classifier()).recognise(BIN)).intent is None
    assert (await (await loaded(Classifier(missing=True))).recognise(BIN)).intent is None
    assert (await (await loaded(Classifier())).recognise("  ")).intent is None


async def test_a_failing_classifier_is_reported_once_and_stops_no_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recogniser = await loaded(Classifier(fails=True))
    for _ in range(3):
        assert (await recogniser.recognise(BIN)).intent is None
    assert [each.message for each in caplog.records] == ["the intent classifier failed"]
    assert "locker" not in caplog.text


async def test_a_late_classifier_is_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intent_recogniser, "DEADLINE_S", 0.01)
    recogniser = await loaded(Classifier(takes_s=0.2))
    assert (await recogniser.recognise(BIN)).intent is None


def test_every_kind_has_thresholds_and_deleting_is_never_sure() -> None:
    assert set(THRESHOLDS) == set(CommandKind)
    for kind in DELETING:
        found = ClassifiedText({kind.value: 1.0}, "my locker")
        assert intent_of(None, found, BIN) == Intent(
            Command(kind, intent_words(kind)), sure=False
        ), "it is asked"


def intent_words(kind: CommandKind) -> str | None:
    return "my locker" if kind in intent_recogniser.NEED_WORDS else None


@pytest.mark.parametrize(
    "kind", [kind for kind in CommandKind if kind not in intent_recogniser.NEED_WORDS]
)
def test_the_probability_decides_what_is_done(kind: CommandKind) -> None:
    def sure(probability: float) -> bool | None:
        found = intent_of(None, ClassifiedText({kind: probability}), "So be it.")
        assert found is None or found.command.kind is kind
        return None if found is None else found.sure

    threshold = THRESHOLDS[kind]
    assert threshold.asked <= threshold.sure
    assert sure(threshold.asked - 0.01) is None
    assert sure(threshold.asked) is (threshold.asked >= threshold.sure)
    assert sure(threshold.sure) is True


def test_a_kind_that_is_not_known_is_no_command() -> None:
    assert intent_of(None, ClassifiedText({"unheard_of": 1.0}), "So be it.") is None


@pytest.mark.parametrize("words", [None, "", "my cat"])
def test_an_argument_is_never_invented(words: str | None) -> None:
    assert intent_of(None, ClassifiedText({"forget_about": 0.99}, words), BIN) is None
    assert intent_of(None, ClassifiedText({"forget_period": 0.99}, words), BIN) is None
    known = intent_of(None, ClassifiedText({"know": 0.99}, words), BIN)
    assert known == Intent(Command(CommandKind.KNOW))


def test_words_are_dropped_where_the_kind_takes_none() -> None:
    found = intent_of(None, ClassifiedText({"stop": 0.99}, "my locker"), BIN)
    assert found == Intent(Command(CommandKind.STOP))


def test_a_calculation_begins_with_what_is_asked_for() -> None:
    text = "Tell me how many miles is 10 kilometres, Ada."
    found = ClassifiedText({"calculate": 0.95}, "miles is 10 kilometres")
    intent = intent_of(None, found, text)
    assert intent is not None
    assert intent.command.words == "how many miles is 10 kilometres"
