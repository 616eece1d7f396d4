"""Time zones of the places that people name."""

import re
import unicodedata
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from assistant.language.word_lists import language_data

REGIONS = (
    *("Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian"),
    "Pacific",
)


def zone_of(place: str) -> ZoneInfo | None:
    """Return the time zone of a city, or of a country that has only one. Return None if the place
    isn't known. The first call reads the list of zones, which blocks for some milliseconds."""
    for name in (place, place.partition(",")[0]):
        if zone := _zones().get(_plain(name)):
            return ZoneInfo(zone)
    return None


@cache
def _zones() -> dict[str, str]:
    """Map places to names of time zones. The places are the last parts of these names, plus those
    in the language data."""
    zones: dict[str, str] = {}
    for zone in sorted(available_timezones()):
        region, _, city = zone.rpartition("/")
        if not region or region in REGIONS:  # "Japan"; "Asia/Tokyo"
            zones[_plain(city)] = zone
    table = language_data("en")["places"]
    return zones | {
        _plain(place): zone if "/" in zone else zones[_plain(zone)]
        for zone, places in table.items()
        for place in places.split(",")
        if "/" in zone or _plain(zone) in zones
    }


def _plain(place: str) -> str:
    """Return a place's name in lower case, without accents, punctuation and "the"."""
    letters = unicodedata.normalize("NFKD", place.lower())
    bare = "".join(each for each in letters if not unicodedata.combining(each))
    return re.sub(r"[\W_]+", " ", bare.replace(".", "")).strip().removeprefix("the ")
