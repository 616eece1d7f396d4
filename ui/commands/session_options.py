"""Options shared by the commands `screen` and `talk`, which hold a conversation."""

import argparse
from pathlib import Path


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add options for recordings as input, a file for the speech, and a file for replay."""
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        type=Path,
        metavar="WAV",
        help="use this recording instead of a microphone; may be repeated",
    )
    parser.add_argument(
        "--output", type=Path, metavar="WAV", help="write the assistant's speech to this file"
    )
    parser.add_argument(
        "--record",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="FILE",
        help="record the conversation for replay; default: in your data folder",
    )


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add options that are short forms of settings."""
    for name, key, metavar, what in (
        ("microphone", "audio.input_device", "NAME", "part of the device's name, or its number"),
        ("loudspeaker", "audio.output_device", "NAME", "part of the device's name, or its number"),
        ("llm", "llm.model", "MODEL", "catalogue name, GGUF file or repository"),
        ("voice", "tts.model", "VOICE", "Piper voice: name or .onnx file"),
        ("speed", "tts.speed", "X", "speed of the voice; 1.0 is normal"),
        ("language", "persona.language", "CODE", "such as en or de; auto detects the language"),
    ):
        parser.add_argument(f"--{name}", dest=key, metavar=metavar, help=what)
