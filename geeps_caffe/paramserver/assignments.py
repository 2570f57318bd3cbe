"""Values that a worker wants to put in place of a table's, until all workers meet."""

from collections.abc import Mapping, Sequence

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.given import listed, numbers
from geeps_caffe.paramserver.scheme import Scheme
from geeps_caffe.paramserver.store import Store


class Assignments:
    """Copies of the values, by a number that names table and what of it is replaced.

    The weights of table t have number 2 t, its history arrays 2 t + 1.
    """

    def __init__(self) -> None:
        self._pending: dict[int, list[Array]] = {}

    def __bool__(self) -> bool:
        """Whether any waits."""
        return bool(self._pending)

    @property
    def targets(self) -> list[int]:
        """The numbers of all that wait."""
        return sorted(self._pending)

    def add_weights(self, scheme: Scheme, table: str, values: Array) -> None:
        """Keep a copy of a table's new values."""
        index = scheme.find(table)
        self._pending[2 * index] = [_checked(scheme, index, values)]

    def add_history(self, scheme: Scheme, table: str, slots: Sequence[Array]) -> None:
        """Keep copies of the rule's new history arrays."""
        index = scheme.find(table)
        slots = listed(f"the history of table {table!r}", slots, "arrays")
        if len(slots) != scheme.slots_of(index):
            raise ParameterServerError(
                f"table {table!r}: its rule has {scheme.slots_of(index)} history "
                f"arrays, {len(slots)} were given"
            )
        self._pending[2 * index + 1] = [_checked(scheme, index, s) for s in slots]

    def write(
        self, scheme: Scheme, store: Store, clock: int, owners: Mapping[int, int]
    ) -> None:
        """Write those that this rank owns to the tables, and forget all."""
        for target, values in self._pending.items():
            if owners.get(target) != store.rank:
                continue
            table = target // 2
            arrays = [store.settled(table, clock)]
            if target % 2:
                arrays = list(store.history(table, clock))
            for array, value in zip(arrays, values, strict=True):
                store.write(array[: value.size], value)
        mine = [t for t in self._pending if owners.get(t) == store.rank]
        if mine:
            store.publish(mine)
        self._pending.clear()


def _checked(scheme: Scheme, index: int, values: Array) -> Array:
    table = scheme.tables[index]
    return numbers(f"table {table.name!r}", values, table.size, table.dtype)
