"""The names of the people and things in the user's life, and the memories found by them."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from assistant.language.speakers import ASSISTANT, USER
from assistant.memory.retrieval.question import read_question
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.relation_index import Role, Roles, roles
from assistant.memory.retrieval.user_index import UserIndex
from tests.support.encoders import unit_vectors
from tests.support.memories import turn
from tests.support.user_memory import user_index

START = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my sister Anna is coming over", ("sister", "anna")),
        ("I had to tell my boss, Henrietta", ("boss", "henrietta")),
        ("my neighbour Mrs Okafor signed for it", ("neighbour", "okafor")),
        ("our dog is called Biscuit, he's a whippet", ("dog", "biscuit")),
        ("the cat's called Professor", ("cat", "professor")),
        ("my builder, his name's Zoltan, rang", ("builder", "zoltan")),
        ("my flatmate's name is Tunde", ("flatmate", "tunde")),
        ("my best friend is Loretta", ("friend", "loretta")),
        ("Ruth is my oldest daughter", ("daughter", "ruth")),
        ("Gerda's my aunt in Vienna", ("aunt", "gerda")),
        ("Oskar, my stepson, broke it", ("stepson", "oskar")),
        ("we call the car Doris", ("car", "doris")),
        ("my mother-in-law Beryl stays", ("mother-in-law", "beryl")),
    ],
)
def test_a_role_and_its_name_are_recognised(text: str, expected: tuple[str, str]) -> None:
    assert Role(*expected) in roles(text)


@pytest.mark.parametrize(
    "text",
    [
        "my sister is coming on Sunday",
        "my sister went to Lisbon",
        "my brother, and I mean it, is late",
        "I told my boss Monday was fine",
        "the list Theo wrote",
        "anna called",
        "my dog. And then he barked",
        "",
    ],
)
def test_a_text_that_names_nobody_in_a_role_has_none(text: str) -> None:
    assert roles(text) == frozenset()


def test_cleared_rows_are_forgotten() -> None:
    known = Roles()
    known.write(0, "my sister Anna is here")
    known.write(1, "my sister Anna and my brother Declan")
    allowed: list[list[int]] = []

    def all_of_them(rows: Iterable[int]) -> bool:
        allowed.append(sorted(rows))
        return True

    assert known.named("what does my sister like?", all_of_them) == {"anna": 1}
    assert allowed == [[0, 1]]
    assert known.named("what does my sister Anna like?", all_of_them) == {}
    assert known.named("what does my sister like?", lambda _: False) == {}
    known.write(1, "nothing of the kind")
    known.clear(0)
    known.clear(0)
    assert known.named("what do my sister and brother like?", all_of_them) == {}
    assert known.__dict__ == Roles().__dict__


def test_persons_who_may_be_meant_share_a_relation() -> None:
    known = Roles()
    known.write(0, "my sister Anna and my sister Ruth")
    known.write(1, "my brother Ben is here")
    known.write(2, "my friend Max and my neighbour Max")
    named = partial(known.named, allowed=lambda _: True)
    assert named("where's my sister?") == {"anna": 0.5, "ruth": 0.5}
    assert named("where's my sister Anna?") == {}, "it says which"
    assert named("my brother and my sister?") == {"ben": 1, "anna": 0.5, "ruth": 0.5}
    assert named("my friend and neighbour?") == {"max": 1}


# -- in a search --------------------------------------------------------------------------------

SAID = (
    "my sister Anna is coming over",
    "Anna would live on liquorice",
    "liquorice is on offer",
    "a sister in a film lives in Rome",
    *(f"number {number} of much small talk" for number in range(30)),
)


def index(said: Sequence[str], ranking: Ranking, speaker: str = USER) -> UserIndex:
    made = user_index(8, ranking)
    memories = [turn(n, text, START, speaker=speaker) for n, text in enumerate(said)]
    made.add(memories, unit_vectors(len(said), 8))
    return made


def linked(within: UserIndex, asked: str = "what does my sister like to eat?") -> set[str]:
    now = START + timedelta(days=9)
    found = within.search(read_question(asked, [USER]), None, k=9, now=now)
    return {each.text for each in found if each.parts.get("linked")}


def test_a_person_asked_for_by_relation_is_found_by_name() -> None:
    assert linked(index(SAID, Ranking())) == {SAID[0], SAID[1]}
    assert linked(index(SAID, Ranking(linked=0.0))) == set()


def test_two_sisters_get_half_of_the_bonus_each() -> None:
    within = index((*SAID, "my sister Ruth sings"), Ranking())
    asked = read_question("what does my sister like to eat?", [USER])
    found = within.search(asked, None, k=9, now=START + timedelta(days=9))
    parts = {each.text: each.parts.get("linked") for each in found}
    assert parts[SAID[1]] == parts["my sister Ruth sings"] == Ranking().linked / 2


def test_the_assistants_words_do_not_link_names_to_roles() -> None:
    assert linked(index(SAID, Ranking(), ASSISTANT)) == set()


def test_hidden_and_removed_memories_link_no_names() -> None:
    within = index(SAID, Ranking())
    within.hide(["x0"], ())
    assert linked(within) == set()
    within.hide((), ())
    assert linked(within) != set()
    within.remove(["m0"])
    within.purge()
    assert linked(within) == set()
    assert "anna" not in repr(vars(within._columns.roles))
