"""A net and a solver that train in milliseconds, without files of data."""

NET = """
name: "small"
layer { name: "data" type: "DummyData" top: "data" top: "label"
  dummy_data_param {
    shape { dim: 4 dim: 3 } shape { dim: 4 }
    data_filler { type: "gaussian" } data_filler { type: "constant" value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy"
  include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """
net: "net.prototxt"
test_iter: 1
test_interval: 2
base_lr: 0.1
lr_policy: "fixed"
display: 1
max_iter: 3
snapshot_prefix: "small"
solver_mode: CPU
random_seed: 1
"""


def write_job(folder, **fields):
    """Write both files; `fields` are added to the solver."""
    (folder / "net.prototxt").write_text(NET)
    extra = "".join(f"{name}: {value}\n" for name, value in fields.items())
    (folder / "solver.prototxt").write_text(SOLVER + extra)
