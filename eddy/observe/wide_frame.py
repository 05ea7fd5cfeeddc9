"""A frame that is printed as wide as it is."""

from __future__ import annotations

import pandas as pd

NUMBER_FORMATS = {"seconds": "{:.4f}", "rate": "{:.3f}", "microseconds": "{:.1f}"}
"""As many digits of a number as say something."""


class Operators(pd.DataFrame):
    """A frame that is printed with all its columns.

    pandas leaves columns out where a line would be longer than 80 characters, or than the terminal is wide.

    >>> print(Operators({"operator": ["dear"], "pattern": [""], "seconds": [0.0073], "microseconds": [7303.832]}))
      operator pattern  seconds  microseconds
    0     dear           0.0073        7303.8
    """

    def __repr__(self) -> str:
        return self.to_string(formatters={name: form.format for name, form in NUMBER_FORMATS.items() if name in self})
