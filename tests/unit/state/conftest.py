"""A session on a real store."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from assistant.memory.transcript.database import Transcript
from tests.support.state_session import Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with closing(Transcript.open(tmp_path / "transcript.sqlite")) as transcript:
        yield Session(transcript)
