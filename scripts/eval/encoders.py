"""The sentence encoders, which encode utterances and questions as in the product."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from assistant.compose.engines import QUERY_TOKENS
from assistant.paths import models_cache
from models.encoder.onnx import OnnxEncoder
from models.selection.profiles import SMALL
from scripts.common.rows import InputUnusable

QUICK = "all-minilm-l6-v2"
"""The encoder with which the limits on cosines were chosen."""

Encode = Callable[[Sequence[str]], NDArray[np.float32]]


class Encoders(NamedTuple):
    """Encodes documents in full precision, and queries in full or reduced precision. `stand_in`
    does the same with a faster encoder."""

    documents: Encode
    queries: Encode
    stand_in: "Encoders | None" = None

    @property
    def quick(self) -> "Encoders":
        return self.stand_in or self


class KeptVectors:
    """Encodes each document only once. If a folder is given, the vectors are stored there between
    runs."""

    def __init__(self, encoder: OnnxEncoder, folder: Path | None) -> None:
        self._encoder = encoder
        self._file = folder / f"{encoder.name}.npz" if folder else None
        self._known: dict[str, NDArray[np.float32]] = {}
        if self._file and self._file.is_file():
            try:
                kept = np.load(self._file)
                self._known = dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))
            except (OSError, ValueError, KeyError, BadZipFile) as error:
                raise InputUnusable(f"{self._file} does not hold vectors.") from error

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._encoder.encode(new), strict=True))
            if self._file:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                np.savez(
                    self._file,
                    texts=np.array(list(self._known)),
                    vectors=np.array(list(self._known.values())),
                )
        return np.array([self._known[text] for text in texts])


def of_documents(name: str) -> OnnxEncoder:
    """A loaded encoder in full precision. `name` is a name in the catalogue, or a folder.

    Raises:
        ModelError: the encoder has to be pulled, or is damaged.
    """
    encoder = OnnxEncoder(_folder(name))
    encoder.load()
    return encoder


def of_questions(name: str) -> OnnxEncoder:
    """A loaded encoder for questions, as in the product. Raises what `of_documents` raises."""
    encoder = OnnxEncoder(_folder(name), quantised=True, max_tokens=QUERY_TOKENS, keep_end=True)
    encoder.load()
    return encoder


def _folder(name: str) -> Path:
    return Path(name) if Path(name).is_dir() else models_cache() / name


def opened(options: argparse.Namespace, *, full: bool = False) -> Encoders:
    """The encoders that the options of `add_both` name. Raises what `both_of` raises."""
    one = both_of(options.encoder, options.vectors, full=full)
    if not options.stand_in:
        return one
    return one._replace(stand_in=both_of(options.stand_in, options.vectors, full=full))


def both_of(name: str, vectors: Path | None = None, *, full: bool = False) -> Encoders:
    """Encoders for documents and for questions; with `full`, both are in full precision.

    Args:
        vectors: a folder in which documents' vectors are stored.

    Raises:
        ModelError: the encoder has to be pulled, or is damaged.
    """
    documents = of_documents(name)
    questions = documents if full else of_questions(name)
    return Encoders(KeptVectors(documents, vectors), questions.encode)


def add_encoder(parser: argparse.ArgumentParser) -> None:
    """Add an option for one encoder; the default is the fast one."""
    parser.add_argument(
        "--encoder", default=QUICK, metavar="NAME", help="encoder in the catalogue, or a folder"
    )


def add_both(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--encoder",
        metavar="NAME",
        help="encoder in the catalogue, or a folder; by default both of the profile `default`",
    )
    parser.add_argument(
        "--stand-in", metavar="NAME", help="faster encoder, used if the other is late"
    )
    parser.add_argument(
        "--vectors", type=Path, metavar="FOLDER", help="store documents' vectors for the next run"
    )


def parsed(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """The parsed options, with the encoders of the profile `default` if none is named."""
    options = parser.parse_args(arguments)
    if options.stand_in and not options.encoder:
        parser.error("--stand-in needs --encoder")
    if not options.encoder:
        options.encoder, options.stand_in = SMALL.encoder, SMALL.stand_in
    return options
