from pathlib import Path

import pytest

from geeps_caffe.config.ps_config import PsConfig, ps_config_flags, read_ps_config
from geeps_caffe.errors import InputError


@pytest.fixture
def read(tmp_path):
    def write_and_read(text):
        path = tmp_path / "ps_config"
        path.write_text(text)
        return read_ps_config(str(path))

    return write_and_read


def test_a_file_of_geeps_is_read_as_it_is(read):
    text = "num_channels=4\nslack=0\ngpu_memory_capacity=4200000000\n"
    text += "mm_warning_level=3\nlayers_per_table=10\ndebug=0\n\n"
    assert read(text) == PsConfig(
        num_channels=4,
        gpu_memory_capacity=4_200_000_000,
        mm_warning_level=3,
        layers_per_table=10,
    )


def test_every_key_has_its_value(read):
    text = """
    # the rest
    slack = 3            # clocks
    read_my_writes = 1
    pinned_cpu_memory = 0
    batches_per_clock = 2
    multi_table = 0
    restore_snapshot = "a/b_iter_7"
    keep_momentum = 0
    debug = 1
    log_interval = 100
    """
    found = read(text)
    assert found.slack == 3
    assert found.read_my_writes
    assert not found.pinned_cpu_memory
    assert found.batches_per_clock == 2
    assert not found.multi_table
    assert found.restore_snapshot == "a/b_iter_7"
    assert not found.keep_momentum
    assert found.debug
    assert found.log_interval == 100
    assert "gradients of 2 batches" in found.notes[0]


def test_keys_of_older_versions_are_named_with_their_lines(read, tmp_path):
    text = "hostfile=machinefile\nslack=0\nthread_cache_capacity=0\n"
    text += "gpu_process_cache_capacity=-1\ngpu_local_storage_capacity=-3\n"
    found = read(text + "gpu_memory_capacity=9000000\nlog_interval=-1\n")
    for line, key in ((1, "hostfile"), (3, "thread_cache_capacity")):
        assert any(
            note.startswith(f"{tmp_path}/ps_config:{line}: {key} is obsolete")
            for note in found.notes
        )
    assert found.gpu_memory_capacity == 9_000_000 * 512  # rows, in those days
    assert "rows of 512 bytes" in found.notes[-1]


def test_all_faults_are_told_with_their_lines(read):
    with pytest.raises(InputError) as error:
        read("slak=0\nslack=no\n\nmm_warning_level=4\nnonsense\n")
    lines = str(error.value).splitlines()
    assert ":1: unknown key 'slak'; did you mean 'slack'?" in lines[0]
    assert ":2: slack is 'no'; expected a whole number" in lines[1]
    assert ":4: mm_warning_level is 4; expected 0 to 3" in lines[2]
    assert ":5: 'nonsense'; expected key = value" in lines[3]


def test_files_of_other_systems_are_read(read):
    assert read("\ufeffslack = 1 \r\nnum_channels=2\r\n") == PsConfig(1, 2)


def test_a_key_that_is_given_twice_and_a_number_without_end_are_refused(read):
    with pytest.raises(InputError, match=r":3: slack was given in .*ps_config:1; give"):
        read("slack=0\ndebug=0\nslack=1\n")
    with pytest.raises(InputError, match="slack is '1e999'; expected a whole number"):
        read("slack=1e999\n")


def test_the_values_as_flags(tmp_path):
    path = tmp_path / "ps_config"
    path.write_text("slack=2\nmulti_table=0\ngpu_memory_capacity=5000\n")
    flags = ps_config_flags(str(path))
    assert {"-slack=2", "-tables=single", "-gpu_memory=5000"} <= set(flags)
    assert "-layers_per_table=1" in flags
    assert not any(flag.startswith("-snapshot") for flag in flags)


def test_the_files_of_geeps_are_read(corpus):
    files = list(Path(corpus).glob("zoo/*geeps*/**/ps_config*"))
    files += Path(corpus).glob("zoo/cuihenggang__caffe/**/ps_config*")
    assert len(files) > 10
    for file in files:
        assert read_ps_config(str(file)).num_channels == 4
