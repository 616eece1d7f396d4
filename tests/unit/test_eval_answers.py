"""The evaluation of answers: its sets, how it asks, and its figures."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assistant.compose import memory as composed
from assistant.context.memory_block import MemoryBlock
from assistant.context.not_known import NOT_ONLINE, NotKnown
from assistant.context.prompt import Prompt
from assistant.events import MemoryUsed
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.settings import Settings
from assistant.voice.answer_check import NOT_DONE
from assistant.voice.claims import ClaimDetector
from models.hardware import usable_cores
from models.interfaces import LanguageModel, Message
from scripts.common.rows import InputUnusable
from scripts.common.simulated_clock import simulated_clock
from scripts.eval import answers
from scripts.eval.answer_data import (
    EVERYDAY,
    MEMORIES,
    NEVER,
    PARTS,
    UNKNOWABLE,
    Expected,
    Person,
    Talk,
    read_people,
    read_talks,
)
from scripts.eval.answer_figures import Judged, figures, shown
from scripts.eval.answer_homes import NoModel, live, open_home
from scripts.eval.answers import Asked, facts_shown, measured, reading_speed, served
from scripts.eval.asking import Answers
from scripts.eval.intents import by_grammar
from scripts.eval.session_turns import SessionParts, Turn
from tests.support.claiming import ClaimingWords
from tests.support.encoders import HashingEncoder, OtherHashing
from tests.support.model_server import model_server
from tests.support.scripted_model import ScriptedModel

TALK = {
    "id": "a1",
    "part": "dev",
    "writer": "a",
    "kind": "fact",
    "turns": ["What's the capital of Norway?"],
    "accept": ["oslo"],
    "reject": ["bergen"],
    "seconds": [0.5, 12],
}
UNTOLD = {"kind": "one", "question": "?", "facts": [[2, 0]], "accept": [], "reject": []}
PERSON = {
    "id": "m1",
    "part": "dev",
    "writer": "m",
    "sessions": [
        {"days_ago": 24, "said": ["My dog is called Bess.", "I play the drums in a band."]},
        {"days_ago": 2, "said": ["I've moved to Leeds.", "What can a dog not eat?"]},
    ],
    "questions": [
        {
            "kind": "person",
            "question": "Do I play the drums or the cello?",
            "facts": [[0, 1]],
            "accept": ["drums"],
            "reject": [r"\bI play\b"],
        },
        {
            "kind": NEVER,
            "question": "What's the surname of my boss?",
            "facts": [],
            "accept": ["don't know"],
            "reject": [],
        },
    ],
}


def written(file: Path, *rows: object) -> Path:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return file


# -- the sets -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def all_talks() -> dict[str, list[Talk]]:
    return {part: read_talks(part) for part in PARTS}


@pytest.fixture(scope="module")
def all_people() -> dict[str, list[Person]]:
    return {part: read_people(part) for part in PARTS}


@pytest.mark.parametrize("part", PARTS)
def test_both_parts_have_all_kinds_and_writers_of_their_own(
    part: str, all_talks: dict[str, list[Talk]], all_people: dict[str, list[Person]]
) -> None:
    [other] = set(PARTS) - {part}

    assert len(all_talks[part]) == len({each.id for each in all_talks[part]}) == 168
    assert len(all_people[part]) == len({each.id for each in all_people[part]}) == 10
    assert {len(each.questions) for each in all_people[part]} == {10}
    for mine, others in (
        (all_talks[part], all_talks[other]),
        (all_people[part], all_people[other]),
    ):
        assert {each.writer for each in mine}.isdisjoint(each.writer for each in others)
        assert {each.id for each in mine}.isdisjoint(each.id for each in others)
    assert {each.kind for each in read_talks(part, 10)} == {each.kind for each in all_talks[part]}
    few = read_people(part, 7)
    assert [len(each.questions) for each in few] == [7]
    assert [q.kind for q in few[0].questions].count("changed") == 2


def test_a_person_tells_what_the_questions_need(tmp_path: Path) -> None:
    [person] = read_people("dev", file=written(tmp_path / "rows", PERSON))
    assert [person.facts(each) for each in person.questions] == [
        ["I play the drums in a band."],
        [],
    ]
    assert read_people("test", file=tmp_path / "rows") == []


@pytest.mark.parametrize(
    ("row", "changed", "wrong"),
    [
        (TALK, {"part": "final"}, "a1 in .* is of an unknown part: final"),
        (TALK, {"accept": None}, "a1 in .* can't be used: `accept` is not a list of texts"),
        (TALK, {"reject": ["(a"]}, r"the pattern '\(a' is wrong"),
        (TALK, {"turns": []}, "nothing is said in it"),
        (TALK, {"seconds": [3, 1]}, "its `seconds` are"),
        (TALK, {"kind": ...}, "`kind` is missing"),
        (PERSON, {"questions": [{"kind": "one"}]}, "`facts` is missing"),
        (PERSON, {"questions": [UNTOLD]}, r"no statement \[2, 0\]"),
        (PERSON, {"sessions": PERSON["sessions"][::-1]}, "are not in order"),
    ],
)
def test_a_row_that_can_not_be_used_is_named(
    row: dict[str, Any], changed: dict[str, Any], wrong: str, tmp_path: Path
) -> None:
    made = {key: value for key, value in (row | changed).items() if value is not ...}
    file = written(tmp_path / "rows", made)
    with pytest.raises(InputUnusable, match=wrong):
        (read_talks if row is TALK else read_people)("dev", file=file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputUnusable, match="can't be read"):
        read_talks("dev", file=tmp_path / "nothing")


# -- asking -------------------------------------------------------------------------------------


@pytest.fixture
def parts() -> Iterator[SessionParts]:
    detector = ClaimDetector(ClaimingWords("I'll print"))
    settings = Settings.model_validate({"llm": {"temperature": 0}})
    yield SessionParts(settings, NoModel(), by_grammar, detector)
    detector.close()


@pytest.fixture
def encoders(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(_: Settings) -> QueryEncoder:
        return QueryEncoder(HashingEncoder(), stronger=QueryEncoder(OtherHashing()))

    monkeypatch.setattr(composed, "profile_encoder", made)


def talks(*rows: dict[str, Any]) -> Sequence[Talk]:
    return [
        Talk(
            row["id"],
            row["writer"],
            row["kind"],
            tuple(row["turns"]),
            Expected(tuple(row["accept"]), tuple(row["reject"]), tuple(row["seconds"])),
        )
        for row in rows
    ]


@pytest.fixture
def person(tmp_path: Path) -> Person:
    [found] = read_people("dev", file=written(tmp_path / "person", PERSON))
    return found


async def ask(
    llm: ScriptedModel, asked: Asked, folder: Path, parts: SessionParts
) -> dict[str, Sequence[Judged]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[LanguageModel]:
        yield llm

    found = await measured([opened], asked, folder, parts, reads_per_s=1000)
    return dict(found["scripted"].judged)


@pytest.mark.usefixtures("encoders")
async def test_everything_is_asked_once_and_judged(
    person: Person, parts: SessionParts, tmp_path: Path
) -> None:
    unknown = TALK | {
        "id": "a2",
        "kind": UNKNOWABLE,
        "turns": ["Hello there!", "Will it rain?"],
        "accept": ["don't know"],
    }
    llm = ScriptedModel(
        [
            "It's Bergen.",
            "Hello!",
            "Peter says so. I'll print it.",
            "I play the drums.",
            "I don't know it.",
        ]
    )
    parts = replace(parts, answers=Answers(tmp_path / "answers"))
    asked = Asked(talks(TALK, unknown), [person])
    found = await ask(llm, asked, tmp_path / "homes", parts)

    first, second = found[EVERYDAY]
    assert first.verdict.wrong == "'Bergen' was found by bergen"
    assert second.turn.text == f"Peter says so. But {NOT_DONE}"
    assert second.verdict.invented == ()
    earlier = [each.content for each in llm.requests[2].messages[1:]]
    assert [*earlier[:2], earlier[2].splitlines()[-1]] == [
        "Hello there!",
        "Hello!",
        "Will it rain?",
    ]
    drums, boss = found[MEMORIES]
    assert (drums.shown, drums.verdict.right, drums.verdict.person) == (True, False, True)
    assert (boss.shown, boss.verdict.right) == (None, True)
    assert all(each.temperature == 0 for each in llm.requests)

    again = await ask(ScriptedModel(["No."]), asked, tmp_path / "again", parts)
    assert [each.turn.spoken for of in again.values() for each in of] == [
        each.turn.spoken for of in found.values() for each in of
    ]
    assert len(llm.requests) == 5


@pytest.mark.usefixtures("encoders")
async def test_what_was_said_is_remembered_with_its_day(
    person: Person, parts: SessionParts, tmp_path: Path
) -> None:
    llm = ScriptedModel(["The drums."])
    question = replace(person.questions[0], question="When did I say that I play the drums?")
    person = replace(person, questions=(question,))
    await ask(llm, Asked(people=[person]), tmp_path, parts)

    assert "- on 1 November: I play the drums in a band." in llm.requests[0].messages[-1].content
    assert "Wednesday 25 November 2026 10:20" not in llm.requests[0].messages[0].content


@pytest.mark.usefixtures("encoders")
async def test_a_skill_replies_as_in_the_product(
    person: Person, parts: SessionParts, tmp_path: Path
) -> None:
    known = replace(person.questions[0], question="What do you know about Leeds?")
    llm = ScriptedModel(["Never asked."])
    found = await ask(llm, Asked(people=[replace(person, questions=(known,))]), tmp_path, parts)

    [answer] = found[MEMORIES]
    assert "you've moved to Leeds" in answer.turn.spoken
    assert (answer.turn.prompt, llm.requests) == (None, [])


async def test_what_cannot_be_known_is_answered_as_in_the_product(
    parts: SessionParts, tmp_path: Path
) -> None:
    unknown = TALK | {"turns": ["Will it rain?"], "kind": UNKNOWABLE, "accept": ["don't know"]}
    later = TALK | {"turns": ["Will it rain?", "Why can't you?"], "accept": ["offline"]}
    told = TALK | {"turns": ["They forecast rain.", "Will it rain?"], "accept": ["yes"]}
    llm = ScriptedModel(["I'm offline.", "I see.", "Yes."])
    rain = NotKnown(NOT_ONLINE)
    parts = replace(parts, cannot_know=lambda said: rain if "Will it" in said else None)
    found = (await ask(llm, Asked(talks(unknown, later, told)), tmp_path, parts))[EVERYDAY]

    assert [each.turn.text for each in found] == [NOT_ONLINE, "I'm offline.", "Yes."]
    assert all(each.verdict.right for each in found)
    asked = [each.content for each in llm.requests[0].messages[1:]]
    assert asked == ["Will it rain?", NOT_ONLINE, "Why can't you?"]
    counted = figures(found)
    assert (counted["fixed"], counted["by_skill"], counted["invented"]) == (0.333, 0.0, None)
    assert "[a1 unknowable, fixed] Will it rain?" in shown(found[0])


@pytest.mark.usefixtures("encoders")
async def test_a_later_statement_supersedes_an_earlier_one_before_anything_is_asked(
    person: Person, parts: SessionParts, tmp_path: Path
) -> None:
    first, last = person.sessions
    person = replace(
        person,
        sessions=(
            replace(first, said=("I live in York.", "Remember that I like tea.")),
            replace(last, said=("I live in Leeds now.", "Remember that I like rye bread.")),
        ),
    )
    await live(tmp_path, person, parts)
    with simulated_clock(lambda: datetime(2026, 11, 25, tzinfo=UTC)):
        async with open_home(tmp_path, parts.settings) as memory:
            assert memory.session_user is not None
            outlines = memory.session_user.index.outlines().values()
    ended = {each.text for each in outlines if each.superseded_by}
    days = {each.text: each.created.day for each in outlines}

    assert ended == {"I live in York."}
    assert (days["I live in Leeds now."], days["I like tea."]) == (23, 1)
    assert not any("Remember" in each for each in days)


@pytest.mark.parametrize(
    ("profile", "notes", "expected"),
    [
        ("", "- on 1 November: I have played drums for 3 years in a jazz band.", True),
        ("About the user:\n- plays the drums in a jazz band, for three years", "", True),
        ("", "- on 1 November: Well, I was at home and then …", False),
        ("", "- on 1 November: I play the drums in a jazz band.", False),
        ("", "", False),
    ],
)
def test_a_fact_counts_as_shown_if_the_model_could_read_it(
    profile: str, notes: str, expected: bool
) -> None:
    said = "For three years, I've played the drums in a jazz band."
    long = f"Well, I was at home and then it rained. {said}"
    question = "Have I played the drums in a jazz band for three years?"
    messages = (Message("system", f"Be brief.\n{profile}"), Message("user", f"{notes}\n{question}"))
    used = (MemoryUsed("m1", long),)
    prompt = Prompt(messages, messages[:1], (), 0, 0, MemoryBlock(notes, 0, used))

    assert facts_shown([said], Turn("Yes.", "Yes.", prompt)) is expected
    assert not facts_shown([said, "My dog is called Bess."], Turn("Yes.", "Yes.", prompt))
    assert not facts_shown([said], Turn("Yes.", "Yes."))


async def test_the_speed_is_measured_once_and_kept(
    parts: SessionParts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = replace(parts, answers=Answers(tmp_path / "answers"))
    llm = ScriptedModel([""])
    speed = await reading_speed(llm, parts, tmp_path)
    parts = replace(parts, answers=Answers(tmp_path / "answers"))

    assert speed is not None
    assert speed > 0
    assert await reading_speed(llm, parts, tmp_path) == speed
    assert [each.max_tokens for each in llm.requests] == [0]

    monkeypatch.setattr(answers, "usable_cores", lambda: usable_cores() + 1)
    await reading_speed(llm, parts, tmp_path)
    assert len(llm.requests) == 2, "with another number of threads, it is measured again"


async def test_a_model_on_a_server_is_asked_too(parts: SessionParts, tmp_path: Path) -> None:
    with model_server(lambda newest: f"Oslo answers {newest}") as endpoint:
        opened = partial(served, endpoint, None)
        found = await measured([opened], Asked(talks(TALK)), tmp_path, parts)
    [answer] = found["scripted"].judged[EVERYDAY]
    assert answer.turn.spoken == f"Oslo answers {answer.asked}"
    assert answer.verdict.right
