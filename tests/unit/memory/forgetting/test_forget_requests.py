"""Requests to forget without a running assistant, on a real table and a real transcript."""

import time
from contextlib import closing
from typing import Any

import pytest

from assistant.errors import AssistantError, ModelMissing, SettingsError, StoreError
from assistant.memory.admin import MemoryAdmin
from assistant.memory.forgetting import receipts
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.desks import (
    CELLO,
    DOG,
    ROOF,
    SAID,
    Row,
    ask,
    at_desk,
    fact,
    newest,
    open_memory_admin,
    said_of,
    talked,
)
from tests.support.remains import found, marked


def texts(desk: MemoryAdmin) -> set[str]:
    return {each.text for each in newest(desk) if each.speaker == "user"}


def everywhere(home: Home, desk: MemoryAdmin) -> tuple[Any, ...]:
    """All data that a preview could have changed."""
    with closing(Transcript.open(home.transcript)) as transcript:
        kept = transcript.exchange_ids("me"), transcript.hidden("me")
    return list(desk.export()), kept, receipts.read(home.root)


@pytest.fixture
def told(home: Home) -> dict[str, str]:
    """Exchanges in the transcript, for which memories exist too."""
    exchanges = talked(home)
    with at_desk(home) as desk:
        desk.rebuild()
    return exchanges


def test_each_form_of_request_is_previewed_carried_out_and_undone(
    home: Home, told: dict[str, str]
) -> None:
    forms: list[tuple[Row, set[str]]] = [
        ({"ids": [told[DOG][:8]]}, {DOG}),
        ({"about": "my dog"}, {DOG}),
        ({"about": "dentists and the cello"}, {CELLO}),
        ({"minutes": 30}, {ROOF, CELLO}),
        ({"minutes": 10**400}, set(SAID)),
        ({"last": True}, {CELLO}),
        ({"everything": True}, set(SAID)),
    ]
    with at_desk(home) as desk:
        before = everywhere(home, desk)
        for form, going in forms:
            shown = ask(desk, "forget", preview=True, **form)
            assert said_of(shown, "going") == going
            assert {row["user"] for row in shown if row["event"] == "exchange"} == going
            sums = shown[-1]
            assert (sums["event"], sums["exchanges"]) == ("preview", len(going))
            assert sums["memories"] == 2 * len(going)
            assert everywhere(home, desk) == before

            (hidden,) = ask(desk, "forget", seen=sums["seen"], **form)
            assert hidden["event"] == "forgetting"
            assert set(hidden["exchanges"]) == {told[text] for text in going}
            assert len(hidden["memories"]) == 2 * len(going)
            assert texts(desk) == set(SAID) - going
            (back,) = ask(desk, "undo")
            assert (back["event"], back["id"]) == ("undone", hidden["id"])
            assert everywhere(home, desk) == before


def test_forgetting_several_things_or_everything_needs_confirmation(
    home: Home, told: dict[str, str]
) -> None:
    with at_desk(home) as desk:
        desk.import_([fact("resting-on-both", "They live in Norway.", told[DOG], told[ROOF])])
        asked: list[Row] = [
            {"ids": [told[DOG], told[ROOF]]},
            {"ids": ["resting-on-both"], "with_sources": True},
            {"minutes": 30},
            {"everything": True},
        ]
        for form in asked:
            last = ask(desk, "forget", ask=True, **form)[-1]
            assert (last["event"], last["confirm"]) == ("preview", True)
            assert ask(desk, "pending")[-1]["count"] == 0
        at_once: list[Row] = [{"ids": [told[DOG]]}, {"ids": ["resting-on-both"]}, {"about": "roof"}]
        for form in at_once:
            assert not ask(desk, "forget", preview=True, **form)[-1]["confirm"]
            assert [row["event"] for row in ask(desk, "forget", ask=True, **form)] == ["forgetting"]
            ask(desk, "undo")
        ask(desk, "forget", ids=[told[DOG]], now=True)
        ask(desk, "forget", ids=[told[ROOF]], now=True)
        assert ask(desk, "forget", ask=True, everything=True)[-1]["things"] == 1


def test_a_request_with_now_deletes_at_once_and_gives_a_receipt(
    home: Home, told: dict[str, str]
) -> None:
    with at_desk(home) as desk:
        for form, going in (({"about": "my dog"}, {DOG}), ({"everything": True}, set(SAID))):
            (gone,) = ask(desk, "forget", now=True, **form)
            assert gone["event"] == "forgotten"
            receipt = gone["receipt"]
            assert receipt["clean"]
            assert receipt["files"] == sum(each["files"] for each in receipt["searched"]) > 3
            assert receipt == receipts.read(home.root)[-1]
            assert ask(desk, "pending")[-1]["count"] == 0
            assert found(home.root, going, []) == []
        assert texts(desk) == set()
    assert marked(home.root) == set(told.values())


def test_hidden_exchanges_are_shown_nowhere(home: Home, told: dict[str, str]) -> None:
    with at_desk(home) as desk:
        desk.import_([fact("a-linked-fact", "It rains in.", told[DOG], superseded_by="a-new-fact")])
        desk.import_([fact("a-new-fact", "It rains no more.", told[ROOF])])
        desk.mark("a-new-fact", pinned=True)
        before = desk.stats()
        assert (before["total"], before["pinned"]) == (8, 1)
        ask(desk, "forget", ids=[told[ROOF][:8]])
        assert texts(desk) == {DOG, CELLO, "It rains in."}
        assert all("roof" not in each.text for each in desk.search("leaking roof", 9).memories)
        assert all(told[ROOF] not in row["sources"] for row in desk.export())
        with pytest.raises(StoreError, match="no memory"):
            desk.show(told[ROOF])
        with pytest.raises(StoreError, match="no memory"):
            ask(desk, "forget", ids=[told[ROOF]])
        assert desk.show("a-linked-fact")["replaced_by"] is None
        assert desk.show(f"{told[CELLO]}-user")["before"]["text"] == "I see, number 1."
        stats = desk.stats()
        assert (stats["total"], stats["pinned"], stats["exchanges"]) == (5, 0, 2)
        assert stats["by_tier"] is not None
        assert sum(stats["by_tier"].values()) == 5
        assert set(stats["without_vector"].values()) == {0}
    with at_desk(home) as desk:
        assert texts(desk) == {DOG, CELLO, "It rains in."}
        assert all("roof" not in each.text for each in desk.search("leaking roof", 9).memories)
        desk.rebuild()
        assert texts(desk) == {DOG, CELLO, "It rains in."}


def test_a_preview_lists_derived_changed_and_remaining_memories(
    home: Home, told: dict[str, str]
) -> None:
    with at_desk(home) as desk:
        desk.import_([fact("resting-on-it", "Max is a dog.", told[DOG])])
        desk.import_([fact("resting-on-both", "They live in Norway.", told[DOG], told[ROOF])])
        desk.import_([fact("quoting-it", "There is noise.", context=f"After: {DOG}")])
        shown = ask(desk, "forget", ids=[told[DOG]], preview=True)
        derived = {row["id"]: row["derived"] for row in shown if row["event"] == "going"}
        assert derived.pop("resting-on-it")
        assert not any(derived.values())
        assert {row["id"] for row in shown if row["event"] == "changing"} == {
            "resting-on-both",
            "quoting-it",
        }
        assert (shown[-1]["derived"], shown[-1]["changing"]) == (1, 2)

        alone = ask(desk, "forget", ids=["resting-on-it"], preview=True)[-1]
        assert (alone["memories"], alone["exchanges"]) == (1, 0)
        assert alone["staying"] == [told[DOG]]
        both = ask(desk, "forget", ids=["resting-on-it"], with_sources=True, preview=True)[-1]
        assert (both["memories"], both["exchanges"], both["staying"]) == (3, 1, [])

        some = ask(desk, "forget", everything=True, preview=True, limit=2)
        assert [row["event"] for row in some] == ["going"] * 2 + ["exchange"] * 2 + ["preview"]
        assert (some[-1]["memories"], some[-1]["shown"]["going"]) == (9, 2)


def test_the_grace_time_continues_in_the_next_process(home: Home, told: dict[str, str]) -> None:
    with at_desk(home) as desk:
        (hidden,) = ask(desk, "forget", about="dog")
        assert not hidden["attended"]
    with at_desk(home) as desk:
        waiting, sums = ask(desk, "pending")
        assert (waiting["id"], waiting["exchanges"]) == (hidden["id"], [told[DOG]])
        assert 0 < waiting["left_s"] <= 60
        assert sums == {"event": "pendings", "count": 1, "attended": False}
        assert texts(desk) == {ROOF, CELLO}
        assert ask(desk, "undo", id=hidden["id"][:6])[0]["id"] == hidden["id"]
        assert texts(desk) == set(SAID)
        assert ask(desk, "pending")[-1]["count"] == 0
    assert found(home.root, {DOG}, []) != []


def test_after_the_grace_time_the_next_command_purges_and_undo_fails(
    home: Home, told: dict[str, str]
) -> None:
    sentences: list[str] = []
    with at_desk(home, grace_s=0.05) as desk:
        ask(desk, "forget", about="dog")
        time.sleep(0.06)
        with pytest.raises(StoreError, match="nothing left to bring back"):
            ask(desk, "undo")
        assert ask(desk, "pending")[0]["left_s"] == 0
    assert found(home.root, {DOG}, []) != []
    with at_desk(home, told=sentences) as desk:
        assert ask(desk, "pending") == [{"event": "pendings", "count": 0, "attended": False}]
        assert texts(desk) == {ROOF, CELLO}
    assert found(home.root, {DOG}, []) == []
    assert marked(home.root) == {told[DOG]}
    (sentence,) = sentences
    assert "is gone for good. Searched" in sentence
    assert sentence.endswith("nothing found.")


def test_without_a_grace_time_exchanges_are_deleted_at_once(
    home: Home, told: dict[str, str]
) -> None:
    with at_desk(home, grace_s=0) as desk:
        assert not ask(desk, "forget", about="dog", preview=True)[-1]["undoable"]
        assert ask(desk, "forget", about="dog")[0]["event"] == "forgotten"
    assert found(home.root, {DOG}, []) == []


def test_undo_reverts_the_last_request_or_the_given_one(home: Home, told: dict[str, str]) -> None:
    with at_desk(home) as desk:
        first, second = (ask(desk, "forget", ids=[told[text]])[0]["id"] for text in (DOG, ROOF))
        with pytest.raises(StoreError, match="can't be brought back"):
            ask(desk, "undo", id="0123456789")
        with pytest.raises(StoreError, match="can't be brought back"):
            ask(desk, "undo", id="")
        assert ask(desk, "undo", id=first)[0]["id"] == first
        assert texts(desk) == {DOG, CELLO}
        assert ask(desk, "undo")[0]["id"] == second
        assert texts(desk) == set(SAID)


def test_a_request_fails_if_its_plan_has_changed_since_the_preview(
    home: Home, told: dict[str, str]
) -> None:
    with at_desk(home) as desk:
        seen = ask(desk, "forget", about="dog", preview=True)[-1]["seen"]
        desk.add("The dog likes liver.")
        with pytest.raises(StoreError, match="has changed since"):
            ask(desk, "forget", about="dog", seen=seen)
        assert len(texts(desk)) == 4
        seen = ask(desk, "forget", about="dog", preview=True)[-1]["seen"]
        ask(desk, "forget", about="dog", seen=seen)
        assert texts(desk) == {ROOF, CELLO}


def test_without_an_encoder_a_topic_is_found_by_its_words(home: Home, told: dict[str, str]) -> None:
    def none(_: Settings) -> QueryEncoder:
        raise ModelMissing("The encoder is missing.")

    with open_memory_admin(home, Settings(), none) as desk:
        shown = ask(desk, "forget", about="dogs", preview=True)
        assert said_of(shown, "going") == {DOG}
        assert shown[-1]["by_words_alone"]


REFUSED: list[tuple[Row, type[AssistantError], str]] = [
    ({}, SettingsError, "Say what to forget"),
    ({"last": False}, SettingsError, "Say what to forget"),
    ({"last": True, "everything": True}, SettingsError, "Say what to forget"),
    ({"ids": []}, SettingsError, "The value of `ids` is invalid"),
    ({"ids": [1]}, SettingsError, "The value of `ids` is invalid"),
    ({"minutes": 0}, SettingsError, "The value of `minutes` is invalid"),
    ({"minutes": -3}, SettingsError, "The value of `minutes` is invalid"),
    ({"minutes": float("nan")}, SettingsError, "The value of `minutes` is invalid"),
    ({"minutes": True}, SettingsError, "The value of `minutes` is invalid"),
    ({"everything": "yes"}, SettingsError, "The value of `everything` is invalid"),
    ({"about": "dog", "with_sources": True}, SettingsError, "`with_sources` needs"),
    ({"about": ""}, SettingsError, "text is empty"),
    ({"about": "him"}, SettingsError, "contains nothing to search for"),
    ({"everything": True, "limit": -1}, SettingsError, "limit"),
    ({"about": "submarines"}, StoreError, "don't know anything about that"),
    ({"minutes": 1}, StoreError, "Nothing was said"),
    ({"ids": ["0123456789"]}, StoreError, "There is no memory"),
]


def test_an_impossible_request_is_refused_in_a_sentence_and_changes_nothing(
    home: Home, told: dict[str, str]
) -> None:
    with at_desk(home) as desk:
        before = everywhere(home, desk)
        for request, error, sentence in REFUSED:
            with pytest.raises(error, match=sentence) as refused:
                ask(desk, "forget", **request)
            assert str(refused.value).endswith(".")
            assert refused.value.mend is not None
        assert everywhere(home, desk) == before


def test_without_any_exchanges_there_is_nothing_to_forget(home: Home) -> None:
    with at_desk(home) as desk:
        for form in ({"last": True}, {"everything": True}):
            with pytest.raises(StoreError, match="othing"):
                ask(desk, "forget", **form)


def test_forgetting_everything_affects_only_one_user(home: Home, told: dict[str, str]) -> None:
    talked(home, "kim")
    with at_desk(home, user="kim") as desk:
        desk.rebuild()
        ask(desk, "forget", everything=True)
        assert texts(desk) == set()
        with pytest.raises(StoreError, match="nothing to forget"):
            ask(desk, "forget", everything=True)
    with at_desk(home) as desk:
        assert texts(desk) == set(SAID)
        assert ask(desk, "pending")[-1]["count"] == 0
        with pytest.raises(StoreError, match="nothing left"):
            ask(desk, "undo")
