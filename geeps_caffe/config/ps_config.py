"""GeePS's ps_config files: what each key means here.

    slack = 0
    num_channels = 4

Keys are those of GeePS-Caffe. Every key acts; those of older versions are named as
obsolete, and unknown ones are refused, all with their lines.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geeps_caffe.errors import InputError, unknown

ROW_BYTES = 512
_UNLIMITED = 1 << 62


@dataclass(frozen=True)
class PsConfig:
    """The values of a file, with GeePS's defaults; names are the keys."""

    slack: int = 0
    num_channels: int = 1
    mm_warning_level: int = 0
    gpu_memory_capacity: int | None = None  # bytes; None: no limit
    read_my_writes: bool = False
    pinned_cpu_memory: bool = True
    batches_per_clock: int = 1
    multi_table: bool = True
    layers_per_table: int = 1
    restore_snapshot: str = ""
    keep_momentum: bool = True
    debug: bool = False
    log_interval: int = 0
    notes: tuple[str, ...] = ()  # for the log, each with the file's name and line


#: Keys of MLtuner, which chose rates and batch sizes for GeePS.
_MLTUNER = """
    app_name branch_mode converge_slack default_lr grid_size hyperopt_root
    initial_tuning lr_tunable mltuner_print_interval num_branches num_clocks_to_eval
    num_clocks_to_run num_clocks_to_test num_epoches_per_test num_progress_samples
    num_samples_per_epoch num_samples_per_test plateau_size_for_adjust
    plateau_size_for_convergence plateau_size_for_retune progress_in_logscale
    refine_tunable retune_tunable scheduler_print_interval searching_stop_slack
    searching_stop_threshold spearmint_root stop_on_converge test_batch_size
    time_to_try train_batch_size train_lr train_slack tunable_chooser
    tunable_searcher tune_batch_size tune_lr tune_lr_decay tune_momentum tune_slack
    tuner_logic update_func
""".split()  # noqa: SIM905 - a word a line would be a page
_OBSOLETE: Mapping[str, str] = {
    **dict.fromkeys(_MLTUNER, "it is MLtuner's; here the solver's file decides"),
    "hostfile": "the machine file is given with -machinefile",
    "output_dir": "statistics go where -stats says",
    "thread_cache_capacity": "the planner finds the sizes of buffers by itself",
    "gpu_process_cache_capacity": "give gpu_memory_capacity, in bytes",
    "gpu_local_storage_capacity": "give gpu_memory_capacity, in bytes",
}
#: In files with these keys the capacity is in rows.
_OLD_UNITS = frozenset(key for key in _OBSOLETE if key.endswith("capacity"))
#: Keys that act otherwise than in GeePS with some values, and how.
_REMARKS: Mapping[str, Callable[[PsConfig], str]] = {
    "batches_per_clock": lambda c: (
        f"gradients of {c.batches_per_clock} batches are averaged before an update, as "
        "iter_size does (GeePS updated once a batch on weights that stayed the same)"
        if c.batches_per_clock > 1
        else ""
    ),
    "pinned_cpu_memory": lambda c: (
        "" if c.pinned_cpu_memory else "swapped arrays are pinned where a GPU computes"
    ),
}


def read_ps_config(path: str) -> PsConfig:
    """Read a file; all its faults are told at once.

    Raises:
        InputError: it can't be read, or has unknown keys or values that are none.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't read the ps_config: {error}") from error
    config, faults = PsConfig(), []
    places: dict[str, str] = {}  # of the keys
    for number, line in enumerate(lines, 1):
        text, place = line.partition("#")[0].strip(), f"{path}:{number}"
        if not text or text.startswith("["):
            continue
        key, equals, value = (part.strip() for part in text.partition("="))
        try:
            if not equals:
                raise InputError(f"{text!r}; expected key = value")
            if key in places:
                raise InputError(f"{key} was given in {places[key]}; give it once")
            config = _with(config, key, value)
            places[key] = place
        except InputError as error:
            faults.append(f"{place}: {error}")
    if faults:
        raise InputError("\n".join(faults))
    return _in_bytes(replace(config, notes=_notes(config, places)), places)


def _with(config: PsConfig, key: str, value: str) -> PsConfig:
    if key in _OBSOLETE:
        return config
    if key not in _READERS:
        raise InputError(unknown("key", key, [*_READERS, *_OBSOLETE]))
    fields: dict[str, Any] = {key: _READERS[key](key, value)}
    return replace(config, **fields)


def _notes(config: PsConfig, places: Mapping[str, str]) -> tuple[str, ...]:
    notes = [
        f"{place}: {key} is obsolete: {_OBSOLETE[key]}"
        for key, place in places.items()
        if key in _OBSOLETE
    ]
    notes += [
        f"{places[key]}: {key}: {remark}"
        for key, say in _REMARKS.items()
        if key in places and (remark := say(config))
    ]
    return tuple(notes)


def _in_bytes(config: PsConfig, places: Mapping[str, str]) -> PsConfig:
    """Older files counted memory in rows."""
    rows = config.gpu_memory_capacity
    if rows is None or not _OLD_UNITS & places.keys():
        return config
    key = "gpu_memory_capacity"
    note = f"{places[key]}: {key} is in rows of {ROW_BYTES} bytes, as in older files"
    return replace(
        config, gpu_memory_capacity=rows * ROW_BYTES, notes=(*config.notes, note)
    )


def _number(least: int) -> Callable[[str, str], int]:
    def read(key: str, value: str) -> int:
        try:
            number = int(float(value)) if "e" in value.lower() else int(value)
        except (ValueError, OverflowError):  # 1e999 is infinite
            raise InputError(f"{key} is {value!r}; expected a whole number") from None
        if number < least:
            raise InputError(f"{key} is {number}; it must be at least {least}")
        return number

    return read


def _switch(key: str, value: str) -> bool:
    if value not in ("0", "1"):
        raise InputError(f"{key} is {value!r}; expected 0 or 1")
    return value == "1"


def _capacity(key: str, value: str) -> int | None:
    number = _number(1)(key, value)
    return None if number >= _UNLIMITED else number


def _level(key: str, value: str) -> int:
    number = _number(0)(key, value)
    if number > 3:
        raise InputError(f"{key} is {number}; expected 0 to 3")
    return number


def _text(key: str, value: str) -> str:
    del key
    return value.strip('"')


_READERS: Mapping[str, Callable[[str, str], int | bool | str | None]] = {
    "slack": _number(-1),
    "num_channels": _number(1),
    "mm_warning_level": _level,
    "gpu_memory_capacity": _capacity,
    "read_my_writes": _switch,
    "pinned_cpu_memory": _switch,
    "batches_per_clock": _number(1),
    "multi_table": _switch,
    "layers_per_table": _number(1),
    "restore_snapshot": _text,
    "keep_momentum": _switch,
    "debug": _switch,
    "log_interval": _number(-1),
}


def ps_config_flags(path: str) -> list[str]:
    """The words of a command line that ask for what a ps_config asks for.

    Raises:
        InputError: as `read_ps_config`.
    """
    config = read_ps_config(path)
    flags = [
        f"-slack={config.slack}",
        f"-channels={config.num_channels}",
        f"-layers_per_table={config.layers_per_table}",
        f"-mm_warning_level={config.mm_warning_level}",
        f"-batches_per_clock={config.batches_per_clock}",
        f"-log_interval={max(config.log_interval, 0)}",
        f"-keep_momentum={str(config.keep_momentum).lower()}",
        f"-read_my_writes={str(config.read_my_writes).lower()}",
        f"-verbose={str(config.debug).lower()}",
    ]
    if not config.multi_table:
        flags.append("-tables=single")
    if config.gpu_memory_capacity is not None:
        flags.append(f"-gpu_memory={config.gpu_memory_capacity}")
    if config.restore_snapshot:
        flags.append(f"-snapshot={config.restore_snapshot}")
    return flags
