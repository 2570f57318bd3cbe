"""Real Caffe's part of a benchmark: run by an interpreter whose `import caffe` works.

    PYTHON caffe_process.py FOLDER

The folder has `solver.prototxt`, the first weights (`weights.npz`, by our keys, such
as "conv1/0") and the batch (`batch.npz`). Asked for "losses N" or "times N" on a line,
it does N steps and answers with a line: a list in JSON. Imports nothing of ours.
"""

import json
import os
import sys
import time

import numpy as np


def make(folder):
    """The solver, with the weights and the batch in place."""
    import caffe  # noqa: PLC0415 - only this process has it

    caffe.set_mode_cpu()
    solver = caffe.get_solver(os.path.join(folder, "solver.prototxt"))
    with np.load(os.path.join(folder, "weights.npz")) as weights:
        for key in weights.files:
            layer, index = key.rsplit("/", 1)
            solver.net.params[layer][int(index)].data[...] = weights[key]
    with np.load(os.path.join(folder, "batch.npz")) as batch:
        for name in batch.files:
            solver.net.blobs[name].data[...] = batch[name]
    return solver


def loss(net):
    """The weighted sum of the losses of the last forward."""
    weights = net.blob_loss_weights
    return float(sum(w * net.blobs[b].data.sum() for b, w in weights.items() if w))


def answer(solver, what, number):
    """What each of so many steps gave."""
    found = []
    for _ in range(number):
        start = time.perf_counter()
        solver.step(1)
        taken = time.perf_counter() - start
        found.append(loss(solver.net) if what == "losses" else taken)
    return found


def main():
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Caffe prints is no answer
    solver = make(sys.argv[1])
    request = "ready 0"
    while request:
        what, number = request.split()
        answers.write(json.dumps(answer(solver, what, int(number))) + "\n")
        answers.flush()
        request = sys.stdin.readline()


if __name__ == "__main__":
    main()
