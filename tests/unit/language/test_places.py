"""Time zones of places."""

from zoneinfo import available_timezones

import pytest

from assistant.language.places import zone_of
from assistant.language.word_lists import language_data


@pytest.mark.parametrize(
    ("place", "zone"),
    [
        ("New York", "America/New_York"),
        ("new york city", "America/New_York"),
        ("Washington, D.C.", "America/New_York"),
        ("LA", "America/Los_Angeles"),
        ("São Paulo", "America/Sao_Paulo"),
        ("St. Johns", "America/St_Johns"),
        ("Paris, France", "Europe/Paris"),
        ("the UK", "Europe/London"),
        ("Japan", "Japan"),
        ("Mumbai", "Asia/Kolkata"),
        ("Melbourne", "Australia/Melbourne"),
        ("UTC", "UTC"),
    ],
)
def test_places_have_their_zone(place: str, zone: str) -> None:
    found = zone_of(place)
    assert found is not None
    assert found.key == zone


@pytest.mark.parametrize("place", ["", "Narnia", "the US", "Australia", "Russia", "my sister's"])
def test_other_places_and_countries_with_several_zones_have_none(place: str) -> None:
    assert zone_of(place) is None


def test_every_place_of_the_table_has_a_zone() -> None:
    assert available_timezones()
    for places in language_data("en")["places"].values():
        for place in places.split(","):
            assert zone_of(place) is not None, place
