"""What the documents name is there: files, commands, flags, README's two commands."""

import re
import subprocess
from pathlib import Path

import pytest

from geeps_caffe.cli import COMMANDS
from geeps_caffe.commands.caffe_flags import FLAGS

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/*.md", "models/*/*.md", "benchmarks/*.md")
    for page in ROOT.glob(pattern)
)
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
QUOTED = re.compile(r"`([\w.][\w./-]*)`")
TOPS = {entry.name for entry in ROOT.iterdir()}
PLACEHOLDER = re.compile(r"NAME|<|_iter_")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_to_files(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_paths_in_quotes_exist(page):
    for name in QUOTED.findall(page.read_text()):
        if "/" not in name or PLACEHOLDER.search(name):
            continue
        if name.split("/")[0] in TOPS:
            assert (ROOT / name).exists(), f"{page.name} names {name}"


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "docs/memory-planning.md"])
def test_modules_named_without_a_folder_exist(name):
    modules = {path.name for path in (ROOT / "geeps_caffe").rglob("*.py")}
    named = set(re.findall(r"`(\w+\.py)`", (ROOT / name).read_text()))
    assert named
    assert named <= modules


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_exist(page):
    for name in re.findall(r"geeps-caffe ([a-z_]+)(?=[ `\n])", page.read_text()):
        assert name in COMMANDS or not re.search(
            rf"`geeps-caffe {name}|^geeps-caffe {name}", page.read_text(), re.MULTILINE
        ), f"{page.name} names the command {name}"


def test_flags_of_the_training_page_exist():
    text = (ROOT / "docs" / "training.md").read_text()
    known = {flag.name for flag in FLAGS} | {"help", "verbose"}
    named = set(re.findall(r"`-([a-z_]+)", text))
    assert named
    assert named <= known


def test_every_flag_stands_on_a_page():
    pages = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    told = set(re.findall(r"(?<![\w-])--?(?:no)?([a-z][a-z_]*)", pages))
    assert {flag.name for flag in FLAGS} <= told


def test_readme_has_one_command_to_start_and_one_to_test():
    text = (ROOT / "README.md").read_text()
    commands = re.findall(r"^python3 -m venv .*$", text, re.MULTILINE)
    assert len(commands) == 2
    assert commands[0].endswith("geeps-caffe quickstart")
    assert commands[1].endswith("pytest")


@pytest.mark.parametrize("script", [".ci/run"])
def test_shell_scripts_are_shell(script):
    assert subprocess.run(["bash", "-n", str(ROOT / script)]).returncode == 0
