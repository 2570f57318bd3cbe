"""Gradients of params, and the calls that open and hand in their tables' updates."""

from collections import Counter
from dataclasses import dataclass, field

from geeps_caffe.graph.graph import Node
from geeps_caffe.schedule.forward import Forward
from geeps_caffe.schedule.instructions import Fill, Table


@dataclass
class Learned:
    """What backward learns, by table: first noted for all nodes, then emitted."""

    forward: Forward
    #: Tables whose gradients are still to be finished, with the nodes to come.
    uses: Counter[str] = field(default_factory=Counter)
    opened: set[str] = field(default_factory=set)  # tables with an update buffer
    written: set[str] = field(default_factory=set)  # gradients that hold a value
    _keys: dict[str, list[str]] = field(default_factory=dict)  # by table
    _idle: dict[str, list[str]] = field(default_factory=dict)  # by table

    def note(self, node: Node) -> None:
        """Learn of a node that backward will come to."""
        self.uses.update(self.tables_of(node))
        for key, wanted in zip(node.params, node.learns, strict=True):
            table = self.forward.tables.get(key)
            if wanted and table is not None:
                keys = self._keys.setdefault(table, [])
                if key not in keys:
                    keys.append(key)

    def note_idle(self) -> None:
        """Blobs with a rate that lie under no loss: they still decay, as in Caffe."""
        params = self.forward.graph.params
        for key, table in self.forward.tables.items():
            keys = self._keys.setdefault(table, [])
            if key not in keys and params[key].lr_mult != 0:
                keys.append(key)
                self._idle.setdefault(table, []).append(key)

    def tables_of(self, node: Node) -> list[str]:
        """The tables of what a node learns."""
        tables = self.forward.tables
        learned = (
            tables[key]
            for key, wanted in zip(node.params, node.learns, strict=True)
            if wanted and key in tables
        )
        return list(dict.fromkeys(learned))

    def gradient_of(self, key: str) -> str:
        """The array of a param's gradient."""
        program = self.forward.program
        name = f"{key}.diff"
        if name not in program.arrays:
            param = program.arrays[program.params[key]]
            home = "gradient" if key in self.forward.tables else "state"
            program.add_leased(name, param.shape, param.layout, home)
            if name not in program.leases:
                program.persistent.add(name)
        return name

    def open(self, node: Node) -> None:
        """Ask for the update buffers that a node is the first to need."""
        for table in self.tables_of(node):
            if table not in self.opened:
                self._open(table)

    def _open(self, table: str) -> None:
        """A buffer starts at zero where gradients are added up."""
        program, keys = self.forward.program, self._keys[table]
        gradients = tuple(self.gradient_of(key) for key in keys)
        program.emit(Table("pre_update", table, gradients, "push"))
        self.opened.add(table)
        if program.options.accumulate:
            for name in gradients:
                program.emit(Fill(name, 0.0, "first"))
        else:
            for key in self._idle.get(table, ()):
                program.emit(Fill(f"{key}.diff", 0.0))

    def finish(self, node: Node) -> None:
        """Hand in every table whose last gradient a node has written."""
        for table in self.tables_of(node):
            self.uses[table] -= 1
            if not self.uses[table]:
                self._hand_in(table)

    def finish_idle(self) -> None:
        """Hand in the tables that no node learns."""
        for table in [name for name in self._idle if name not in self.opened]:
            self._open(table)
            self._hand_in(table)

    def _hand_in(self, table: str) -> None:
        gradients = tuple(f"{key}.diff" for key in self._keys[table])
        self.forward.program.emit(Table("update", table, gradients, "push"))
