import pytest

import prototxt
from geeps_caffe.errors import GraphError
from geeps_caffe.graph.filter import NetState, included


def layer(rules):
    text = f'layer {{ name: "x" type: "ReLU" bottom: "a" top: "b" {rules} }}'
    return prototxt.parse_net(text, "net.prototxt").message.layer[0]


def kept(rules, phase="TRAIN", level=0, stages=()):
    return included(layer(rules), NetState(phase, level, tuple(stages)))


def test_a_layer_without_rules_is_always_there():
    assert kept("")
    assert kept("", "TEST", 3, ["deploy"])


@pytest.mark.parametrize("phase", ["TRAIN", "TEST"])
def test_phases(phase):
    assert kept("include { phase: TRAIN }", phase) == (phase == "TRAIN")
    assert kept("exclude { phase: TRAIN }", phase) == (phase == "TEST")


@pytest.mark.parametrize("level", [-1, 0, 1, 2, 3])
def test_levels(level):
    assert kept("include { min_level: 1 }", level=level) == (level >= 1)
    assert kept("include { max_level: 1 }", level=level) == (level <= 1)
    within = kept("include { min_level: 1 max_level: 2 }", level=level)
    assert within == (1 <= level <= 2)


@pytest.mark.parametrize(
    ("rule", "stages", "matches"),
    [
        ('stage: "a"', ["a", "b"], True),
        ('stage: "a"', ["b"], False),
        ('stage: "a" stage: "b"', ["a"], False),
        ('stage: "a" stage: "b"', ["a", "b"], True),
        ('not_stage: "a"', ["b"], True),
        ('not_stage: "a"', ["a"], False),
        ('not_stage: "a" not_stage: "b"', ["b"], False),
        ('stage: "a" not_stage: "b"', ["a"], True),
        ('stage: "a" not_stage: "b"', ["a", "b"], False),
    ],
)
def test_stages(rule, stages, matches):
    assert kept(f"include {{ {rule} }}", stages=stages) == matches
    assert kept(f"exclude {{ {rule} }}", stages=stages) == (not matches)


def test_one_of_several_rules_is_enough():
    rules = 'include { phase: TEST } include { stage: "a" }'
    assert kept(rules, "TEST")
    assert kept(rules, "TRAIN", stages=["a"])
    assert not kept(rules, "TRAIN")


def test_all_conditions_of_a_rule_must_hold():
    rule = 'include { phase: TEST min_level: 1 stage: "a" }'
    assert kept(rule, "TEST", 1, ["a"])
    assert not kept(rule, "TRAIN", 1, ["a"])
    assert not kept(rule, "TEST", 0, ["a"])
    assert not kept(rule, "TEST", 1)


def test_a_layer_is_either_included_or_excluded():
    with pytest.raises(GraphError, match=r"layer 'x' \(ReLU\).*give either"):
        kept("include { phase: TEST } exclude { phase: TRAIN }")
