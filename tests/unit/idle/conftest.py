import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from assistant.memory.transcript.database import Transcript
from tests.support.idle_home import told


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as opened:
        yield opened


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the home `fresh`, for copying: it has utterances, but no idle work has run."""
    folder = tmp_path_factory.mktemp("homes")
    asyncio.run(told(folder / "fresh"))
    return folder
