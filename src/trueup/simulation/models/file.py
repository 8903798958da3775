"""Models written as MJCF files with valid asset paths."""

from pathlib import Path
from typing import Any

from trueup._secrets import mask
from trueup._writing import write_bytes, write_text
from trueup.errors import ReportError, RunDirectoryError
from trueup.simulation.models.precise_xml import precise_xml
from trueup.simulation.targets.spec_view import plain
from trueup.simulation.targets.variants import compile_spec


def write_model(spec: Any, path: str | Path) -> list[Path]:
    """Write a spec as MJCF; it is not changed.

    Paths of meshes, textures and height fields are made relative to the file; those in memory are
    written next to it, in ``<name>_assets``.

    Args:
      spec: the ``MjSpec``.
      path: the file to write.

    Returns:
      The files written.

    Raises:
      ModelError: the spec does not compile.
      ReportError: a file cannot be written.
    """
    path = Path(path)
    copy = plain(spec).copy()
    compile_spec(copy, f"the model of {path.name}")
    in_memory = {Path(name).name: content for name, content in copy.assets.items()}
    folder = path.with_name(f"{path.stem}_assets")
    if in_memory:
        copy.meshdir = copy.texturedir = folder.name
        for element in (*copy.meshes, *copy.hfields, *copy.textures):
            element.file = Path(element.file).name
    written = [path]
    try:
        write_text(path, precise_xml(copy, None if in_memory else path.parent))
        for name, content in in_memory.items():
            folder.mkdir(exist_ok=True)
            raw = mask(content).encode("utf-8") if isinstance(content, str) else bytes(content)
            write_bytes(folder / name, raw)
            written.append(folder / name)
    except OSError as error:
        raise ReportError(f"cannot write {error.filename}: {error.strerror}") from error
    except RunDirectoryError as error:
        raise ReportError(str(error)) from error
    return written
