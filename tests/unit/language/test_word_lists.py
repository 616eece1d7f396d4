"""Word lists are read only when they are first used."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import importlib, pkgutil
import assistant.language as package
from assistant.language.word_lists import language_data
for each in pkgutil.iter_modules(package.__path__):
    importlib.import_module(f"{package.__name__}.{each.name}")
print(language_data.cache_info().currsize)
"""


def test_importing_the_language_package_reads_no_word_list() -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
