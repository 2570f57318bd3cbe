"""A process's memory, as Linux counts it."""

from pathlib import Path


class Memory:
    """The memory of a process since this was made; `process` is its number."""

    def __init__(self, process: int | str = "self") -> None:
        self._folder = Path(f"/proc/{process}")
        (self._folder / "clear_refs").write_text("5")  # the peak starts anew

    def peak(self) -> float:
        """The most resident so far, in MB."""
        for line in (self._folder / "status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
        return float("nan")
