import pytest

from assistant.encryption import keys
from tests.support.homes import CHEAP_ARGON2


@pytest.fixture(autouse=True)
def cheap_argon2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "ARGON2", CHEAP_ARGON2)
