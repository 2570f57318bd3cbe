"""Rewrites that make a step cheaper and change its results by rounding alone.

A pass is a function from a graph to a graph, before it is compiled, or from a program
to a program. Passes run in the order of these tables; `Options.without` names those
that do not. Nets whose every blob must stay readable have none.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from geeps_caffe.config.exact import NAME as PARTS
from geeps_caffe.engines.engine import Engine
from geeps_caffe.errors import UsageError, unknown
from geeps_caffe.graph.graph import Graph
from geeps_caffe.schedule.passes.activations import fuse_activations
from geeps_caffe.schedule.passes.norms import merge_norms
from geeps_caffe.schedule.passes.rows import update_by_rows
from geeps_caffe.schedule.passes.unread import drop_unread
from geeps_caffe.schedule.program import Options, Program

GraphPass: TypeAlias = Callable[[Graph, Engine, Options], Graph]
ProgramPass: TypeAlias = Callable[[Program, Engine], Program]

GRAPH_PASSES: Mapping[str, GraphPass] = {"norms": merge_norms}
PROGRAM_PASSES: Mapping[str, ProgramPass] = {
    "activations": fuse_activations,
    "unread": drop_unread,
    "rows": update_by_rows,
}
NAMES = (*GRAPH_PASSES, *PROGRAM_PASSES, PARTS)


def rewritten_graph(graph: Graph, engine: Engine, options: Options) -> Graph:
    """The graph after all passes over graphs."""
    for name, rewrite in GRAPH_PASSES.items():
        if _wanted(name, options):
            graph = rewrite(graph, engine, options)
    return graph


def rewritten_program(program: Program, engine: Engine) -> Program:
    """The program after all passes over programs."""
    for name, rewrite in PROGRAM_PASSES.items():
        if _wanted(name, program.options):
            program = rewrite(program, engine)
    return program


def parse_passes(text: str) -> tuple[str, ...]:
    """The names in a list that is separated by commas; "all" is all of them.

    Raises:
        UsageError: a name is not one of a pass.
    """
    names = tuple(name for name in text.split(",") if name)
    for name in names:
        if name not in (*NAMES, "all"):
            raise UsageError(unknown("pass", name, (*NAMES, "all")))
    return NAMES if "all" in names else names


def _wanted(name: str, options: Options) -> bool:
    return not options.keep_all and name not in options.without


__all__ = ["NAMES", "parse_passes", "rewritten_graph", "rewritten_program"]
