"""Calls on single threads, side by side: the same bits on any number of threads.

oneDNN parts one gradient's sum over records among the threads that it has, so that its
last bits depend on their number. Here a sum is always made by one thread, and threads
make several sums at the same time.

The threads are OpenMP's own, which wait for work already: all rows run in one parallel
region, in which oneDNN's own loops stay on the thread that meets them. (Measured: with
threads of Python's beside OpenMP's, which wait by spinning on the same cores, LeNet's
step took a tenth longer.)
"""

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from geeps_caffe.device.array import Array
from geeps_caffe.engines.engine import Call, Description, Request
from geeps_caffe.engines.one_lane import in_turn
from geeps_caffe.engines.onednn.recipes import Recipes
from geeps_caffe.engines.onednn.threads import openmp_threads, set_openmp_threads

Row: TypeAlias = Sequence[Call]


class OneDnnLanes:
    """See `engine.Lanes`.

    Args:
        library: oneDNN, through which its OpenMP is found.
        count: threads of the engine.
        make: recipes with a stream of their own, for a lane.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        count: int,
        make: Callable[[], Recipes],
    ) -> None:
        self.count = count
        self._library = library
        self._make = make
        self._recipes: list[Recipes] = []
        self._states = _ThreadStates()

    def describe(self, request: Request) -> Description | None:
        """How the pass would run on one thread."""
        with _Alone(self._library):
            return self._of(0).describe(request)

    def bind(
        self,
        lane: int,
        request: Request,
        description: Description,
        arrays: Mapping[str, Array],
        scratch: Array | None,
    ) -> Call:
        """The call for one thread; only the given lane may run it."""
        with _Alone(self._library):
            return self._of(lane).bind(request, description, arrays, scratch)

    def abreast(self, rows: Sequence[Row]) -> Call:
        """One call that runs all rows and returns when they are done."""
        assert len(rows) <= self.count, "as many rows as lanes"
        if len(rows) == 1:
            call = in_turn(rows)
        else:
            call = _Region(self._library, rows, self._states)

        def run() -> None:
            with _Alone(self._library):
                call()

        return run

    def _of(self, lane: int) -> Recipes:
        while len(self._recipes) <= lane:
            self._recipes.append(self._make())
        return self._recipes[lane]


class _Alone:
    """Within it loops of oneDNN's own have the calling thread alone."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def __enter__(self) -> None:
        self._before = openmp_threads(self._library)
        set_openmp_threads(self._library, 1)

    def __exit__(self, *error: object) -> None:
        set_openmp_threads(self._library, self._before)


class _ThreadStates:
    """What Python has for threads that it has not started itself.

    Without it all that is made when such a thread comes to Python and dropped when it
    leaves: memory is asked of the system and given back in each region. (LeNet's step,
    which has four, took 5.7 ms instead of 5.4.)
    """

    def __init__(self) -> None:
        self._own = threading.local()

    def keep(self) -> None:
        """Keep that of the calling thread, for as long as the process lives."""
        if not hasattr(self._own, "kept"):
            self._own.kept = ctypes.pythonapi.PyGILState_Ensure()


class _Region:
    """A parallel region of OpenMP whose threads run rows; or one thread does it all."""

    def __init__(
        self, library: ctypes.CDLL, rows: Sequence[Row], states: _ThreadStates
    ) -> None:
        self._rows, self._states = tuple(map(tuple, rows)), states
        self._errors: list[BaseException] = []
        self._done: list[Row] = []
        self._body = _BODY(self._run_own)  # kept: OpenMP has a bare pointer
        self._start: Any = None  # where threads are another way's: TBB, or none
        try:
            # oneDNN depends on its OpenMP, so the loader finds these through it.
            self._start = library.GOMP_parallel
            self._number = library.omp_get_thread_num
            self._team = library.omp_get_num_threads
        except AttributeError:
            pass

    def __call__(self) -> None:
        """Run all rows."""
        if self._start is None:
            in_turn(self._rows)()
            return
        self._done.clear()
        self._start(self._body, None, ctypes.c_uint(len(self._rows)), ctypes.c_uint(0))
        if self._errors:
            raise self._errors.pop()
        if len(self._done) < len(self._rows):
            raise KeyboardInterrupt  # it came before `_run_own` could see it

    def _run_own(self, _: int | None) -> None:
        """What a thread of the region does; there may be fewer than rows."""
        try:
            self._states.keep()
            for row in self._rows[self._number() :: self._team()]:
                for call in row:
                    call()
                self._done.append(row)
        except BaseException as error:
            self._errors[:] = [error]


_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
