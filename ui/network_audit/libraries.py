"""Names of libraries from their file paths."""

from collections.abc import Iterable
from pathlib import PurePath

PYTHON = "Python"
"""The call came from Python; its library must be found out by Python itself."""
PACKAGES = ("site-packages", "dist-packages")
SYSTEM = ("libc.", "libc-", "libpthread", "libresolv", "libnss_", "libdl", "ld-linux", "libgcc_s")
INTERPRETER = ("python", "libpython", "libffi")
BUILT_IN = "lib-dynload"
"""Folder of the extension modules that come with Python."""


def native_library(paths: Iterable[str]) -> str | None:
    """The library that made a system call.

    Args:
        paths: of the libraries on the stack, innermost first.

    Returns:
        The first that is neither the system's nor Python's; `PYTHON` if there is only Python;
        None if nothing is known.
    """
    python = False
    for path in paths:
        name = PurePath(path).name
        if name.startswith(INTERPRETER) or BUILT_IN in PurePath(path).parts:
            python = True
        elif not name.startswith(SYSTEM):
            return library_of(path) or name
    return PYTHON if python else None


def library_of(path: str) -> str | None:
    """The distribution's folder or module that contains a file, such as `onnxruntime`; None if the
    file is not part of an installed one."""
    parts = PurePath(path).parts
    for packages in PACKAGES:
        if packages in parts:
            index = len(parts) - 1 - parts[::-1].index(packages)
            return parts[index + 1].partition(".")[0]
    return None
