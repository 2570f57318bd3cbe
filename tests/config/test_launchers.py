import pytest

from geeps_caffe.config.launchers import Launched, launched
from geeps_caffe.errors import UsageError

MASTER = {"MASTER_ADDR": "a", "MASTER_PORT": "1234"}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"RANK": "1", "WORLD_SIZE": "4", **MASTER}, Launched(1, 4, "a", 1234)),
        (
            {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", **MASTER},
            Launched(0, 2, "a", 1234),
        ),
        ({"PMI_RANK": "1", "PMI_SIZE": "2", **MASTER}, Launched(1, 2, "a", 1234)),
        (
            {
                "SLURM_PROCID": "3",
                "SLURM_NTASKS": "8",
                "SLURM_JOB_NODELIST": "n[03-05,9],m1",
                "MASTER_PORT": "77",
            },
            Launched(3, 8, "n03", 77),
        ),
        (
            {"RANK": "1", "WORLD_SIZE": "2", **MASTER, "MASTER_ADDR": "[::1]"},
            Launched(1, 2, "::1", 1234),
        ),
        ({"RANK": "0", "WORLD_SIZE": "1"}, None),
        ({"WORLD_SIZE": "1"}, None),
        ({"SLURM_NTASKS": "4"}, None),  # of salloc, whose shell is no task
        ({"SLURM_PROCID": "0"}, None),  # of sbatch, without -n
        ({}, None),
    ],
)
def test_each_launchers_variables_are_understood(environ, expected):
    assert launched(environ) == expected


def test_processes_of_one_host_need_no_address_and_share_a_port():
    environ = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    environ |= {"PMIX_NAMESPACE": "job-7"}
    found = [launched(environ | {"OMPI_COMM_WORLD_RANK": str(r)}) for r in range(2)]
    assert {one.master for one in found} == {"127.0.0.1"}
    assert found[0].port == found[1].port


def test_ranks_of_torchrun_meet_beside_its_own_store_which_has_the_masters_port():
    environ = {"RANK": "0", "WORLD_SIZE": "2", **MASTER, "TORCHELASTIC_RUN_ID": "none"}
    assert launched(environ) == Launched(0, 2, "a", 1234)
    environ["TORCHELASTIC_USE_AGENT_STORE"] = "True"
    first, second = (launched(environ | {"RANK": rank}) for rank in "01")
    assert first.port == second.port != 1234
    assert launched(environ | {"MASTER_PORT": "1235"}).port != first.port
    assert launched(environ, 77).port == 77


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"RANK": "0", "WORLD_SIZE": "2"}, "set MASTER_ADDR"),
        ({"RANK": "2", "WORLD_SIZE": "2", **MASTER}, "RANK=2 is not a rank"),
        ({"RANK": "x", "WORLD_SIZE": "2", **MASTER}, "RANK is 'x'"),
        ({"RANK": "1", "WORLD_SIZE": "2", **MASTER, "MASTER_PORT": "x"}, "PORT is 'x'"),
        ({"RANK": "1", "WORLD_SIZE": "2", **MASTER, "MASTER_PORT": "0"}, "PORT is 0;"),
        (
            {"RANK": "1", "WORLD_SIZE": "2", **MASTER, "MASTER_PORT": "70000"},
            "MASTER_PORT is 70000; expected 1 to 65535",
        ),
        ({"RANK": "1", **MASTER}, "RANK is '1', but WORLD_SIZE is not set"),
        ({"WORLD_SIZE": "2", **MASTER}, "WORLD_SIZE is '2', but RANK is not set"),
    ],
)
def test_contradictions_are_refused(environ, message):
    with pytest.raises(UsageError, match=message):
        launched(environ)
