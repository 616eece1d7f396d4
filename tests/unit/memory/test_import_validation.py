"""Rows that can't be imported are refused in one sentence, and nothing is written."""

from datetime import UTC, datetime
from typing import Any

import pytest

from assistant.errors import SettingsError
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.records.serialization import to_json
from assistant.memory.records.validation import MOST
from assistant.paths import Home
from tests.support.desks import at_desk, newest
from tests.support.zones import in_zone

SAID = datetime(2026, 3, 1, 9, tzinfo=UTC)
FIRST, LAST = "0002-01-01T00:00:00+00:00", "9998-12-31T23:59:59+00:00"


def row(**more: object) -> dict[str, Any]:
    return to_json(Memory("m1", "me", MemoryKind.FACT, "I like tea.", SAID)) | more


REFUSED = [
    ({"uses": -1}, "the field `uses` is not between 0 and 2,147,483,647"),
    ({"uses": 2**70}, "the field `uses` is not between 0 and"),
    ({"feedback": -(2**70)}, "the field `feedback` is not between -2,147,483,647 and"),
    ({"feedback": 2**70}, "the field `feedback` is not between"),
    ({"id": "m\ud800"}, "the field `id` contains an invalid character"),
    ({"text": "I like \udc00tea"}, "the field `text` contains an invalid character"),
    ({"sources": ["e1", "e\udfff"]}, "the field `sources` contains an invalid character"),
    ({"superseded_by": "\ud83d"}, "the field `superseded_by` contains an invalid character"),
    ({"te\ud800xt": 1}, "a field's name contains an invalid character"),
    ({"created": "0001-12-31T23:59:59+00:00"}, "the field `created` is not between the years"),
    ({"created": "9999-01-01T00:00:00+00:00"}, "the field `created` is not between the years"),
    ({"created": "0002-01-01T00:00:00+10:00"}, "the field `created` is not between the years"),
    ({"last_used": "9998-12-31T23:00:00-10:00"}, "the field `last_used` is not between the years"),
    ({"expires": "9999-12-31T23:59:59-14:00"}, "the field `expires` is not between the years"),
    ({"refreshed": "0001-01-01T00:00:00+14:00"}, "the field `refreshed` is not between the years"),
]


@pytest.mark.parametrize(("change", "why"), REFUSED)
def test_a_row_that_cannot_be_imported_is_named_and_no_earlier_row_is_written(
    home: Home, change: dict[str, object], why: str
) -> None:
    with at_desk(home) as admin:
        with pytest.raises(SettingsError) as refused:
            admin.import_([row(id="good"), row(**change)])
        assert newest(admin) == []
    sentence = str(refused.value)
    assert sentence.startswith(f"Line 2 can't be imported: {why}")
    assert sentence.endswith(". Nothing was imported.")
    assert sentence.encode("utf-8"), "it can be printed"


@pytest.mark.parametrize("zone", ["UTC0", "<-12>12", "<+14>-14"])
def test_rows_just_within_the_limits_can_be_found(home: Home, zone: str) -> None:
    ends: dict[str, object] = {"uses": MOST, "feedback": -MOST, "expires": LAST}
    with (
        in_zone(zone),
        at_desk(home) as admin,
    ):
        rows = [row(id=f"m{n}", created=at, **ends) for n, at in enumerate((FIRST, LAST))]
        assert admin.import_(rows) == 2
        assert list(admin.export()) != []
        found = admin.search("tea", 5).memories
        assert len(found) == 2
        assert all(0 <= each.score < 100 for each in found)
