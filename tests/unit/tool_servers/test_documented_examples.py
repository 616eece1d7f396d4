"""The examples in the documentation of tools are true."""

import doctest
from types import ModuleType

import pytest

from assistant.skills.tools import tool_answers, tool_arguments, tools
from assistant.tool_servers import candidates, tool


@pytest.mark.parametrize("module", [tool, candidates, tool_arguments, tool_answers, tools])
def test_the_examples_in_the_documentation_are_true(module: ModuleType) -> None:
    assert doctest.testmod(module).attempted > 0
    assert doctest.testmod(module).failed == 0
