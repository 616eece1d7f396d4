"""LanceDB is imported with stand-ins for libraries that it doesn't need here."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]


def printed(program: str, *folders: Path) -> list[str]:
    """The lines that a program prints. It imports modules from these folders first."""
    path = [str(folder) for folder in (*folders, ROOT)]
    begin = (
        f"import sys; sys.path[:0] = {path!r}\n"
        "from assistant.memory.store.lance_import import import_lancedb\n"
        "lancedb = import_lancedb()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", begin + program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_a_class_of_the_web_client_is_imported_when_it_is_used(tmp_path: Path) -> None:
    lines = printed(
        "print('lance_namespace_urllib3_client' in sys.modules)\n"
        f"tables = lancedb.connect({str(tmp_path)!r}).list_tables()\n"
        "print(type(tables).__module__, tables.tables)\n"
        "from lance_namespace import ListTablesResponse\n"
        "print(isinstance(tables, ListTablesResponse))\n"
        "print(ListTablesResponse.from_dict({'tables': ['memories']}).tables)\n"
    )
    assert lines == [
        "False",
        "lance_namespace_urllib3_client.models.list_tables_response []",
        "True",
        "['memories']",
    ]


@pytest.mark.parametrize(
    "use",
    [
        "class Use(ListTablesResponse): pass",
        "import pydantic\nclass Use(pydantic.BaseModel): said: ListTablesResponse",
        "import overrides\nUse = overrides.overrides",
    ],
)
def test_a_version_that_needs_the_real_libraries_gets_them(tmp_path: Path, use: str) -> None:
    (tmp_path / "lancedb.py").write_text(f"from lance_namespace import ListTablesResponse\n{use}\n")

    lines = printed(
        "import overrides\n"
        "print(lancedb.Use.__name__, type(lancedb.ListTablesResponse(tables=[])).__module__)\n"
        "print(overrides.overrides.__module__)\n",
        tmp_path,
    )

    assert lines[0].endswith(" lance_namespace_urllib3_client.models.list_tables_response")
    assert lines[1] == "overrides.overrides"
