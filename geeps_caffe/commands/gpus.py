"""What becomes of a wish for GPUs on a machine without a usable one."""

from geeps_caffe.commands.session import Session
from geeps_caffe.config.flags import CommandLine


def choose_device(
    session: Session, line: CommandLine, where: str, solver_wants: bool = False
) -> None:
    """Say what is computed on.

    Args:
        session: the log.
        line: its -gpu flag is the wish.
        where: Caffe's place for the line "Use CPU.".
        solver_wants: the solver's mode is GPU (its default) and no -gpu is given.
    """
    wish = line.text("gpu")
    if wish or solver_wants:
        asked = f"-gpu {wish}" if wish else "solver_mode: GPU (Caffe's default)"
        session.warn(f"{asked}, but there is no usable GPU here: computing on the CPU")
    session.say(where, "Use CPU.")
