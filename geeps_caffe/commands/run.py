"""run: run a Python script that says `import caffe`, as it is."""

import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from geeps_caffe.errors import EXIT_FAILURE, InputError, UsageError

_OURS = "geeps_caffe.caffe"


def main(argv: Sequence[str]) -> int:
    """Run argv[0] with the other words as its arguments."""
    if not argv or argv[0] in ("-help", "--help", "-h"):
        raise UsageError("give a script and its arguments: geeps-caffe run SCRIPT ...")
    script = argv[0]
    if not Path(script).is_file():
        raise InputError(f"{script}: no such script (in {Path.cwd()})")
    try:
        with caffe_answered(), _arguments(argv):
            runpy.run_path(script, run_name="__main__")
    except Exception:  # the script's own, shown as Python shows it
        traceback.print_exc()
        return EXIT_FAILURE
    return 0


@contextmanager
def caffe_answered() -> Iterator[None]:
    """Let `import caffe`, and what is in it, mean our pycaffe."""
    finder = _Alias()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [n for n in sys.modules if n == "caffe" or n.startswith("caffe.")]:
            del sys.modules[name]


class _Alias(MetaPathFinder, Loader):
    """Finds caffe.x as geeps_caffe.caffe.x, the same module under both names."""

    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if name != "caffe" and not name.startswith("caffe."):
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        name = _OURS + spec.name.removeprefix("caffe")
        try:
            self._real = import_module(name)
        except ModuleNotFoundError as error:
            if error.name == name:
                raise ModuleNotFoundError(
                    f"geeps-caffe has no module {spec.name!r}", name=spec.name
                ) from None
            raise
        self._spec = self._real.__spec__
        return self._real

    def exec_module(self, module: ModuleType) -> None:
        """It has run already; its own spec is put back."""
        module.__spec__ = self._spec


@contextmanager
def _arguments(argv: Sequence[str]) -> Iterator[None]:
    """The script's sys.argv, and its folder first on the path, as Python has it."""
    before = sys.argv, list(sys.path)
    sys.argv = list(argv)
    sys.path.insert(0, str(Path(argv[0]).resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before
