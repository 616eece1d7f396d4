"""A registered store of a person's words, which are forgotten there as well."""

import json
from collections.abc import Collection, Iterable
from contextlib import closing
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.errors import StoreError
from assistant.events import Searched
from assistant.memory.forgetting.purge import purge
from assistant.memory.forgetting.receipts import PurgeResult
from assistant.memory.records.data_location import FindsWords, RemovesWords
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from tests.support.memories import NOW

SAID = "Put aniseed and forty blue candles on the list."
ASKED = "Put bread on the list."
ITEM = "forty blue candles and aniseed"
OTHER = "wholemeal bread, well baked"


class ShoppingList:
    """Items in a file, each with the exchange in which the user asked for it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fails = False

    def write(self, items: Collection[tuple[str, str, str]]) -> None:
        self.path.write_text(json.dumps(list(items)), "utf-8")

    def read(self) -> list[tuple[str, str, str]]:
        """The user, exchange and text of each item."""
        return [(user, key, text) for user, key, text in json.loads(self.path.read_text("utf-8"))]

    def words(
        self, user: str, exchanges: Collection[str], memories: Collection[str]
    ) -> tuple[list[str], list[str]]:
        mine = [(key in exchanges, text) for owner, key, text in self.read() if owner == user]
        return [text for goes, text in mine if goes], [text for goes, text in mine if not goes]

    def purge(self, gone: RemovesWords) -> None:
        if self.fails:
            raise StoreError("The list can't be written.")
        kept = [each for each in self.read() if (each[0], each[1]) not in self._keys(gone)]
        self.write(kept)

    def _keys(self, gone: RemovesWords) -> set[tuple[str, str]]:
        return {(gone.user, key) for key in gone.exchanges}

    def search(self, patterns: FindsWords) -> Iterable[Searched]:
        texts = [text for _, _, text in self.read()]
        found = ("the shopping list",) if patterns.found_in_text(texts) else ()
        yield Searched("shopping", versions=1, bytes=sum(map(len, texts)), found=found)

    def limits(self) -> Iterable[str]:
        yield "What was written on paper can't be searched."


class Shop:
    """A home with the list registered in its transcript, for whose user it holds two items."""

    def __init__(self, home: Home) -> None:
        self.transcript = Transcript.open(home.transcript)
        self.list = ShoppingList(home.root / "shopping.json")
        self.transcript.locations.append(self.list)
        talk = Conversation.begin("me")
        keys = []
        for turn, text in enumerate((SAID, ASKED), start=1):
            talk.append_user(turn, text, NOW)
            exchange = talk.complete(turn, "It is on the list.")
            self.transcript.store(talk, exchange)
            keys.append(exchange.id)
        self.going = HiddenItems.of("me", keys[:1], (), NOW)
        items = [("me", keys[0], ITEM), ("me", keys[1], OTHER), ("kim", "another", "lemonade")]
        self.list.write(items)

    def purge(self) -> PurgeResult:
        return purge(self.going, self.transcript, None)


@pytest.fixture
def shop(home: Home) -> Iterable[Shop]:
    shop = Shop(home)
    with closing(shop.transcript):
        yield shop


def test_a_purge_covers_a_registered_store_and_the_receipt_lists_it(shop: Shop, home: Home) -> None:
    receipt = shop.purge().receipt
    assert [text for _, _, text in shop.list.read()] == [OTHER, "lemonade"]
    assert b"candles" not in b"".join(p.read_bytes() for p in home.root.glob("*") if p.is_file())
    assert receipt.clean
    assert Searched("shopping", versions=1, bytes=len(OTHER + "lemonade")) in receipt.searched
    assert "What was written on paper can't be searched." in receipt.unprovable


def test_words_that_a_registered_store_fails_to_delete_are_found(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shop.list, "purge", lambda gone: gone)
    found = {each.name: each.found for each in shop.purge().receipt.searched if each.found}
    assert found["shopping"] == ("the shopping list",)


def test_the_words_of_a_registered_store_are_searched_for_in_every_file(
    shop: Shop, home: Home
) -> None:
    (home.root / "copy.txt").write_text(f"a copy: {ITEM}", "utf-8")
    places = [place for each in shop.purge().receipt.searched for place in each.found]
    assert places == ["copy.txt"]


def test_a_failed_purge_can_be_repeated(shop: Shop) -> None:
    shop.list.fails = True
    with pytest.raises(StoreError, match="The list can't be written"):
        shop.purge()
    shop.list.fails = False
    assert shop.purge().receipt.clean
    assert [text for _, _, text in shop.list.read()] == [OTHER, "lemonade"]
