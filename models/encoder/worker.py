"""Runs a sentence encoder in a process of its own, only while there are texts to encode.

A strong encoder's full weights take half a gigabyte, and are needed only now and then. When the
process ends, all of this memory is free again. The process can also be stopped in the middle of a
text, e.g. when somebody speaks.

    python -m models.encoder.worker FOLDER

reads pickled lists of texts from standard input. For each list, it writes pickled vectors or a
pickled ModelError to standard output.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from assistant.errors import ModelError, ModelFailed, ModelMissing
from models.download.manifest import vectors_name

Vectors = NDArray[np.float32]

FULL = "encoder.onnx"
NICE = 10
"""Nice value of the process. It is high, because nobody waits for the results."""
_PROJECT = Path(__file__).resolve().parents[2]


class EncoderProcess:
    """A `SentenceEncoder` that runs the prepared model in `folder`, in full precision.

    Thread-safe: concurrent calls of `encode` wait for each other.
    """

    def __init__(self, folder: Path) -> None:
        self.name = vectors_name(folder)
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._working = threading.Lock()

    @property
    def dimensions(self) -> int:
        """Number of values in a vector, found by encoding a word."""
        return int(self.encode(["warm"]).shape[1])

    def load(self) -> None:
        """Check that the model's files exist. The model itself is loaded by `encode`.

        Raises:
            ModelMissing: the folder is missing or has not been prepared.
        """
        if not (self._folder / FULL).is_file():
            raise ModelMissing(
                f"The encoder {self.name} is incomplete: {self._folder / FULL} is missing.",
                mend=f"assistant models pull {self._folder.name}",
            )

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of the texts, shape (len(texts), dimensions).

        If the process is not running, it is started, which takes a second or two.

        Raises:
            ModelFailed: the process ended, e.g. because of `rest`, or onnxruntime failed.
        """
        with self._working:
            if self._process is not None and self._process.poll() is not None:
                self._end()
            self._process = self._process or self._started()
            try:
                return self._asked(self._process, texts)
            except (OSError, EOFError, pickle.UnpicklingError) as error:
                self._end()
                raise ModelFailed(f"The process of the encoder {self.name} has ended.") from error

    def rest(self) -> None:
        """End the process, even in the middle of a text. Thread-safe and idempotent."""
        process = self._process
        if process is not None:
            process.kill()
        if self._working.acquire(blocking=False):  # otherwise `encode` cleans up
            try:
                self._end()
            finally:
                self._working.release()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # unwritten data has no reader any more
                if pipe is not None:
                    pipe.close()
        process.wait()

    def _started(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", "models.encoder.worker", str(self._folder)],
            cwd=_PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def _asked(self, process: "subprocess.Popen[bytes]", texts: Sequence[str]) -> Vectors:
        """Send the texts to the process, and return its answer.

        Raises:
            ModelFailed: the process reported an error.
            OSError, EOFError, UnpicklingError: the process has ended.
        """
        assert process.stdin is not None
        assert process.stdout is not None
        pickle.dump(list(texts), process.stdin)
        process.stdin.flush()
        answer: Vectors | ModelError = pickle.load(process.stdout)
        if isinstance(answer, ModelError):
            raise ModelFailed(str(answer))
        return answer


def serve(folder: Path, asked: IO[bytes], answers: IO[bytes]) -> None:
    """Encode each list of texts in `asked` until the input ends, and write the results to
    `answers`."""
    from models.encoder.onnx import OnnxEncoder

    encoder = OnnxEncoder(folder)
    with suppress(EOFError):
        while True:
            texts = pickle.load(asked)
            answer: Vectors | ModelError
            try:
                encoder.load()
                answer = encoder.encode(texts)
            except ModelError as error:
                answer = error
            pickle.dump(answer, answers)
            answers.flush()


def main() -> None:
    if hasattr(os, "nice"):
        os.nice(NICE)
    serve(Path(sys.argv[1]), sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
