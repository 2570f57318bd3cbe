"""Plain charts as SVG text: lines with points, and stacked bars. No dependency."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#8a5fbf", "#c98a1b", "#555555")
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 40, 60


@dataclass(frozen=True)
class Series:
    """Points of one kind; `line` joins them, `dash` breaks the line."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    line: bool = True
    dash: str = ""
    mark: str = "circle"  # or "square": what was measured by others


@dataclass
class Chart:
    """Axes from 0 to `right` and `top`; elements are added, then `text` is the file."""

    title: str
    x_label: str
    y_label: str
    right: float
    top: float
    width: int = 860
    height: int = 440
    legend: tuple[int, int] = (540, 52)  # of its first line
    _parts: list[str] = field(default_factory=list)
    _legend: list[tuple[str, str, str]] = field(default_factory=list)

    # -- elements --------------------------------------------------------------

    def add(self, series: Series) -> None:
        """Points, with a line between them."""
        spots = [(self._x(x), self._y(y)) for x, y in series.points]
        if series.line:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
            self._parts.append(
                f'<polyline points="{path}" fill="none" stroke="{series.colour}" '
                f'stroke-width="2" stroke-dasharray="{series.dash}"/>'
            )
        for x, y in spots:
            self._parts.append(_mark(series.mark, x, y, series.colour))
        self._legend.append((series.name, series.colour, series.mark))

    def add_bars(
        self, names: Sequence[str], heights: Sequence[Sequence[float]]
    ) -> None:
        """Stacked bars; `heights` has one row for each of `names`, from below."""
        count = len(heights[0])
        each = (self.width - _LEFT - _RIGHT) / count
        for i in range(count):
            below = 0.0
            for row, colour in zip(heights, COLOURS, strict=False):
                top, bottom = self._y(below + row[i]), self._y(below)
                self._parts.append(
                    f'<rect x="{_LEFT + i * each + 1:.1f}" y="{top:.1f}" '
                    f'width="{each - 2:.1f}" height="{bottom - top:.1f}" '
                    f'fill="{colour}"/>'
                )
                below += row[i]
        for name, colour in zip(names, COLOURS, strict=False):
            self._legend.append((name, colour, "square"))

    def add_x_names(self, names: Sequence[str]) -> None:
        """A name below each of as many equal parts of the axis."""
        each = (self.width - _LEFT - _RIGHT) / len(names)
        for i, name in enumerate(names):
            x, y = _LEFT + (i + 0.5) * each, self.height - _BOTTOM + 8
            self._parts.append(
                f'<text x="{x:.1f}" y="{y}" font-size="9" text-anchor="end" '
                f'transform="rotate(-60 {x:.1f} {y})">{escape(name)}</text>'
            )

    # -- text ------------------------------------------------------------------

    def text(self, x_ticks: Iterable[float], y_ticks: Iterable[float]) -> str:
        """The whole file."""
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" '
            f'height="{self.height}" viewBox="0 0 {self.width} {self.height}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{self.width}" height="{self.height}" fill="white"/>',
            f'<text x="{self.width / 2}" y="20" font-size="15" '
            f'text-anchor="middle">{escape(self.title)}</text>',
            *self._axes(x_ticks, y_ticks),
            *self._parts,
            *self._legend_lines(),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    def _axes(self, x_ticks: Iterable[float], y_ticks: Iterable[float]) -> list[str]:
        base, right = self.height - _BOTTOM, self.width - _RIGHT
        middle, parts = (_TOP + base) / 2, []
        for tick in y_ticks:
            y = self._y(tick)
            parts.append(
                f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" '
                'stroke="#dddddd"/>'
            )
            parts.append(_words(_LEFT - 6, y + 4, f"{tick:g}", "end"))
        for tick in x_ticks:
            parts.append(_words(self._x(tick), base + 18, f"{tick:g}"))
        turned = f'transform="rotate(-90 18 {middle})"'
        parts += [
            f'<path d="M{_LEFT} {_TOP} V{base} H{right}" fill="none" stroke="black"/>',
            _words((_LEFT + right) / 2, self.height - 8, self.x_label),
            _words(18, middle, self.y_label, more=turned),
        ]
        return parts

    def _legend_lines(self) -> list[str]:
        parts = []
        for i, (name, colour, mark) in enumerate(self._legend):
            x, y = self.legend[0], self.legend[1] + 16 * i
            parts.append(_mark(mark, x, y - 4, colour))
            parts.append(f'<text x="{x + 12}" y="{y}">{escape(name)}</text>')
        return parts

    def _x(self, value: float) -> float:
        return _LEFT + value / self.right * (self.width - _LEFT - _RIGHT)

    def _y(self, value: float) -> float:
        base = self.height - _BOTTOM
        return base - value / self.top * (base - _TOP)


def _words(
    x: float, y: float, text: str, anchor: str = "middle", more: str = ""
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>'
        f"{escape(text)}</text>"
    )


def _mark(kind: str, x: float, y: float, colour: str) -> str:
    if kind == "square":
        return (
            f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" '
            f'fill="{colour}"/>'
        )
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
