"""Outputs derived from exchanges are stored once, found by subject, and deleted with any source."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from assistant.memory.records.hidden import HiddenItems
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.derived_outputs import DerivedOutput, DerivedOutputs
from tests.support.idling import NOW, talked


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as opened:
        yield opened


@pytest.fixture
def derived(transcript: Transcript) -> DerivedOutputs:
    return DerivedOutputs(transcript, "me")


def keep(
    derived: DerivedOutputs, subject: str, content: object, *sources: str, version: int = 1
) -> bool:
    return derived.keep(
        "describe", version, "a model", DerivedOutput(subject, content, sources), NOW
    )


def test_an_output_is_stored_once_and_missing_ones_are_listed(
    transcript: Transcript, derived: DerivedOutputs
) -> None:
    first, second, third = talked(transcript, 3)
    assert derived.missing("describe", 1, 10) == [third, second, first]
    assert keep(derived, second, {"text": "Zoë's dog"}, second, first)
    assert keep(derived, second, {"text": "Zoë's cat"}, second)
    assert derived.of("describe") == {second: {"text": "Zoë's cat"}}
    assert derived.of("describe", [first, third]) == {}
    assert derived.of("expand") == {}
    assert derived.missing("describe", 1, 1) == [third]
    assert derived.missing("describe", 1, 10) == [third, first]
    assert derived.missing("describe", 2, 10) == [third, second, first]


def test_an_output_is_deleted_with_any_of_its_sources_and_missing_again(
    transcript: Transcript, derived: DerivedOutputs
) -> None:
    first, second, third = talked(transcript, 3)
    keep(derived, second, "It quotes the first.", second, first)
    keep(derived, third, "It stands alone.", third)
    transcript.delete_exchanges("me", [first])
    assert derived.of("describe") == {third: "It stands alone."}
    assert derived.missing("describe", 1, 10) == [second]
    assert "It quotes the first." not in transcript.texts()
    assert b"quotes the first" not in transcript.path.read_bytes()


def test_nothing_is_stored_for_deleted_hidden_or_other_users_sources(
    transcript: Transcript, derived: DerivedOutputs
) -> None:
    first, second = talked(transcript, 2)
    (others,) = talked(transcript, 1, user="you")
    transcript.delete_exchanges("me", [first])
    hidden = HiddenItems("h", "me", NOW, NOW + timedelta(minutes=1), (second,), ())
    transcript.hide(hidden)
    for sources in ((first,), (second,), (others,), ("never",)):
        assert not keep(derived, "subject", "x", *sources)
    with pytest.raises(ValueError, match="needs at least one source"):
        keep(derived, "subject", "x")
    assert derived.of("describe") == {}


def test_hidden_outputs_are_neither_shown_nor_missing_until_restored(
    transcript: Transcript, derived: DerivedOutputs
) -> None:
    first, second = talked(transcript, 2)
    keep(derived, second, "It quotes the first.", second, first)
    transcript.hide(HiddenItems("h", "me", NOW, NOW + timedelta(minutes=1), (first,), ()))
    assert derived.of("describe") == {}
    assert derived.missing("describe", 1, 10) == []
    transcript.unhide("me", "h")
    assert derived.of("describe") == {second: "It quotes the first."}


def test_users_do_not_see_each_others_outputs(
    transcript: Transcript, derived: DerivedOutputs
) -> None:
    (mine,) = talked(transcript, 1)
    talked(transcript, 1, user="you")
    keep(derived, mine, "mine", mine)
    others = DerivedOutputs(transcript, "you")
    assert others.of("describe") == {}
    assert others.of("describe", [mine]) == {}
    assert mine not in others.missing("describe", 1, 10)
