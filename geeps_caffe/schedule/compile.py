"""From a graph to a program: the passes in their order."""

from collections.abc import Mapping

from geeps_caffe.engines.engine import Engine, Layout
from geeps_caffe.graph.graph import Graph
from geeps_caffe.schedule.backward import Backward
from geeps_caffe.schedule.forward import Forward
from geeps_caffe.schedule.instructions import Clock
from geeps_caffe.schedule.passes import rewritten_graph, rewritten_program
from geeps_caffe.schedule.program import Options, Program
from geeps_caffe.schedule.read_ahead import read_ahead


def compile_program(
    graph: Graph,
    engine: Engine,
    options: Options,
    tables: Mapping[str, str] | None = None,
    layouts: Mapping[str, Layout] | None = None,
) -> Program:
    """One iteration over `graph` as instructions for `engine`.

    Args:
        graph: the net, with shapes.
        engine: answers which layouts operations want; no array is touched.
        options: see Options.
        tables: param key -> table of the GeePS client; params without one are local.
        layouts: layouts that params have already (from the training net, or an
            earlier batch shape); others take what this program's forward asks for.
    """
    graph = rewritten_graph(graph, engine, options)
    reserved = {*graph.params, *(f"{key}.diff" for key in graph.params)}
    program = Program(options, tables=dict(tables or {}), reserved=frozenset(reserved))
    forward = Forward(graph, engine, program, tables or {}, dict(layouts or {}))
    forward.run()
    program.dynamic = forward.dynamic
    program.backward_start = len(program.instructions)
    if options.backward:
        Backward(forward).run()
        if tables:
            program.emit(Clock())
    program = rewritten_program(program, engine)
    if options.param_cache is not None:
        read_ahead(program)
    return program
