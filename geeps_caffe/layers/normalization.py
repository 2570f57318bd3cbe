"""What a loss is divided by: loss_param normalization, for all losses that have it."""

from dataclasses import dataclass
from typing import Any

FULL, VALID, BATCH_SIZE, NONE, PRE_FIXED = 0, 1, 2, 3, 10001  # NormalizationMode


@dataclass(frozen=True)
class Normalization:
    """One of the modes, PRE_FIXED (Intel's) with its divisor."""

    mode: int
    fixed: float = 1.0

    def measure(self, items: int, valid: int, batch: int) -> float:
        """What a sum over `items`, of which `valid` are not ignored, is divided by.

        The divisor is at least 1, so that a batch in which all is ignored costs 0.
        """
        by_mode = {
            FULL: items,
            VALID: valid,
            BATCH_SIZE: batch,
            NONE: 1,
            PRE_FIXED: self.fixed,
        }
        return float(by_mode[self.mode])


def normalization_of(param: Any, default: int = VALID) -> Normalization:
    """What a LossParameter asks for.

    `normalization` wins over the older `normalize` (true: VALID, false: BATCH_SIZE);
    `default` holds where neither is given.
    """
    if param.HasField("normalization"):
        return Normalization(param.normalization, param.pre_fixed_normalizer)
    if param.HasField("normalize"):
        return Normalization(VALID if param.normalize else BATCH_SIZE)
    return Normalization(default)
