# MuJoCo's compiled modules carry no types: everything in them is Any here.
from typing import Any

def __getattr__(name: str) -> Any: ...
