"""The worker process of llama.cpp ends when nobody is there to ask it."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from models.llm.llama_process import WorkerConfig
from tests.support.language import tiny_gguf

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60


@pytest.mark.parametrize("attempt", range(4))
@pytest.mark.parametrize("asked", [b"", b'{"id": 1, "requ'], ids=["nothing", "half a request"])
def test_it_ends_though_its_parent_was_gone_before_the_model_was_loaded(
    tmp_path: Path, asked: bytes, attempt: int
) -> None:
    """A server that has just begun doesn't always hear that it is to end: two times of three."""
    config = WorkerConfig(
        str(tiny_gguf()), context_tokens=512, lanes=1, threads=1, batch_threads=1, batch=32
    )
    folder = tmp_path / "worker"
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "models.llm.llama_worker", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
    ) as worker:
        assert worker.stdin is not None
        worker.stdin.write(json.dumps(asdict(config)).encode() + b"\n" + asked)
        worker.stdin.close()
        try:
            assert worker.wait(PATIENCE_S) == 0
        finally:
            worker.kill()
    assert not folder.exists()
