"""What an object holds in RAM, whatever its parts are called."""

import gc
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import numpy as np

PASSED_BY = (BuiltinFunctionType, FunctionType, MethodType, ModuleType, type)
"""From these all of the program can be reached."""


def held(thing: object) -> bytes:
    """All words and numbers that can be reached from it."""
    found: list[bytes] = []
    seen: dict[int, object] = {}
    left = [thing]
    while left:
        each = left.pop()
        if id(each) in seen or isinstance(each, PASSED_BY):
            continue
        seen[id(each)] = each
        if isinstance(each, str):
            found.append(each.encode("utf-8", "surrogatepass"))
        elif isinstance(each, (bytes, bytearray)):
            found.append(bytes(each))
        elif isinstance(each, np.ndarray):
            found.append(each.tobytes())
            left += [each.base, *(each.flat if each.dtype.hasobject else ())]
        else:
            left += gc.get_referents(each)
            left += list(each) if isinstance(each, dict) else ()  # words as keys are no referents
    return b"\n".join(found)
