"""Collects all data that an object holds in RAM, whatever its attributes are called."""

import gc
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import numpy as np

PASSED_BY = (BuiltinFunctionType, FunctionType, MethodType, ModuleType, type)
"""Types that are not followed, as the whole program can be reached from them."""


def held(thing: object) -> bytes:
    """All strings, bytes and arrays that can be reached from `thing`."""
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
            # `gc` doesn't report keys that are strings.
            left += list(each) if isinstance(each, dict) else ()
    return b"\n".join(found)
