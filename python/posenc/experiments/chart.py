"""A picture of a table: a row for each scheme, a column for each test, a cell's colour its mean, and its spread below.

As pictures of `posenc plot` it is SVG of text that can be read and searched, in light and in dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

LEFT, TOP, WIDTH, HEIGHT = 118, 70, 76, 34
# From little to much: dark text is read on each of them.
COLOURS = ("#fde0d2", "#fcefc9", "#e9f3c4", "#c6e8c3", "#93d5b7")
STYLE = (
    "text{font:12px system-ui,'DejaVu Sans',sans-serif}.t{font-size:15px;font-weight:600}.n{font-size:13px}"
    ".s{font-size:9px}.paper{fill:#fff}.ink{fill:#1f2328}.soft{fill:#59636e}.cell{fill:#1f2328}"
    "@media(prefers-color-scheme:dark){.paper{fill:#0d1117}.ink{fill:#f0f6fc}.soft{fill:#9198a1}}"
)


def _colour(x: float) -> str:
    return COLOURS[min(len(COLOURS) - 1, int(max(0.0, x) * len(COLOURS)))]


def chart(
    title: str, detail: str, rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[Sequence[float]]]
) -> str:
    """cells[row][column]: numbers from 0 to 1, one for each seed; none where nothing was measured."""
    width, height = LEFT + WIDTH * len(columns) + 14, TOP + HEIGHT * len(rows) + 14
    width = max(width, 14 + 7 * max(len(title) + 8, len(detail)))
    said = "; ".join(
        f"{row}: " + ", ".join(f"{column} {sum(of) / len(of):.2f}" for column, of in zip(columns, line) if of)
        for row, line in zip(rows, cells)
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-labelledby="title description">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="description">{escape(detail)}. {escape(said)}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        f'<text class="t ink" x="14" y="26">{escape(title)}</text>',
        f'<text class="soft" x="14" y="43">{escape(detail)}</text>',
    ]
    for n, column in enumerate(columns):
        x = LEFT + WIDTH * n + WIDTH / 2
        lines.append(f'<text class="ink" x="{x:g}" y="{TOP - 8}" text-anchor="middle">{escape(column)}</text>')
    for n, (row, line) in enumerate(zip(rows, cells)):
        y = TOP + HEIGHT * n
        lines.append(f'<text class="ink" x="{LEFT - 8}" y="{y + 21}" text-anchor="end">{escape(row)}</text>')
        lines += [_cell(LEFT + WIDTH * m, y, of) for m, of in enumerate(line) if of]
    return "\n".join([*lines, "</svg>", ""])


def _cell(x: int, y: int, of: Sequence[float]) -> str:
    mean, middle = sum(of) / len(of), x + WIDTH / 2
    return (
        f'<rect x="{x + 1}" y="{y + 1}" width="{WIDTH - 2}" height="{HEIGHT - 2}" fill="{_colour(mean)}"/>'
        f'<text class="n cell" x="{middle:g}" y="{y + 16}" text-anchor="middle">{mean:.2f}</text>'
        f'<text class="s cell" x="{middle:g}" y="{y + 28}" text-anchor="middle">{min(of):.2f} .. {max(of):.2f}</text>'
    )
