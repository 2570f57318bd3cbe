"""Which layers, bottoms and params take part in backward (the rules of Net::Init)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from geeps_caffe.errors import GraphError
from geeps_caffe.graph.graph import Node, Param


def with_needs(
    nodes: Sequence[Node], params: Mapping[str, Param], force: bool
) -> tuple[Node, ...]:
    """The nodes with needs_backward, propagate and learns filled in.

    Downwards, a layer needs backward if a bottom does or a param has a rate.
    Upwards, only what lies under a loss is kept. `force` is force_backward.
    """
    forward = _from_the_bottom(nodes, params)
    return _forced(forward, params) if force else _under_a_loss(forward)


def _from_the_bottom(nodes: Sequence[Node], params: Mapping[str, Param]) -> list[Node]:
    needed: dict[str, bool] = {}
    result = []
    for node in nodes:
        given = node.layer.spec.propagate_down
        if given and len(given) != len(node.bottoms):
            raise GraphError(
                f"{node.title} has {len(given)} propagate_down entries for "
                f"{len(node.bottoms)} bottoms; give one for each or none"
            )
        propagate = tuple(
            (bool(given[i]) if given else needed[b]) and i not in node.layer.shape_only
            for i, b in enumerate(node.bottoms)
        )
        learns = tuple(
            params[k].lr_mult != 0 and not params[k].state for k in node.params
        )
        needs = any(needed[b] for b in node.bottoms) or any(learns)
        if given:
            needs = any(propagate) or any(learns)
        for top in node.tops:
            needed[top] = needs
        result.append(
            replace(node, propagate=propagate, learns=learns, needs_backward=needs)
        )
    return result


def _under_a_loss(nodes: Sequence[Node]) -> tuple[Node, ...]:
    under: set[str] = set()  # values that a loss depends on
    result = []
    for node in reversed(nodes):
        contributes = any(node.loss_weights) or any(t in under for t in node.tops)
        needs = node.needs_backward and contributes
        propagate = tuple(p and needs for p in node.propagate)
        _refuse_label_gradients(node, propagate)
        if contributes:
            read = zip(node.bottoms, node.propagate, strict=True)
            under.update(bottom for bottom, wanted in read if wanted)
        result.append(
            replace(
                node,
                needs_backward=needs,
                propagate=propagate,
                learns=tuple(flag and needs for flag in node.learns),
            )
        )
    return tuple(reversed(result))


def _forced(nodes: Sequence[Node], params: Mapping[str, Param]) -> tuple[Node, ...]:
    return tuple(
        replace(
            node,
            needs_backward=not node.layer.is_source,
            propagate=tuple(
                p or node.layer.keeps_gradient(i) for i, p in enumerate(node.propagate)
            ),
            learns=tuple(not params[key].state for key in node.params),
        )
        for node in nodes
    )


def _refuse_label_gradients(node: Node, propagate: Sequence[bool]) -> None:
    for i, wanted in enumerate(propagate):
        if wanted and not node.layer.keeps_gradient(i):
            raise GraphError(
                f"{node.title} can't pass a gradient to bottom[{i}] "
                f"({node.bottoms[i]!r}), which it reads as labels; feed it from a data "
                "layer or set propagate_down: false for it"
            )
