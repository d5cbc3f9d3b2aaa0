"""One look for every picture: matplotlib figures as small SVG whose colours the page decides.

Every colour that is not of a colour map has a role in `style.css`. Matplotlib draws with the light
value of the role, which `svg` then turns into a CSS variable, so that one file reads well in light
and dark. Text stays text. Equal figures give equal bytes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from importlib.resources import files
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

PIXEL = 1 / 72  # inches: a unit of the picture, which is a CSS pixel at full size
WIDE = 520  # pixels

STYLE_SHEET = files(__package__).joinpath("style.css").read_text(encoding="utf-8")


def _roles(sheet: str) -> dict[str, str]:
    """Light colour by role: those of the first block of the style sheet."""
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", sheet.split("}", 1)[0]))


ROLES = _roles(STYLE_SHEET)
SOURCES = (
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#9c755f", "#499894", "#d37295",
    "#a0cbe8", "#ffbe7d", "#8cd17d", "#ff9d9a", "#d4a6c8", "#d7b5a6", "#86bcb6", "#fabfd2",
)  # fmt: skip
REGIMES = ("warmup", "firehose", "polish")
HEAT = "viridis"
BALANCE = "PuOr"  # about a middle

LOOK = {
    "svg.fonttype": "none",
    "svg.hashsalt": "andrea",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 12,
    "axes.titlesize": 12,
    "axes.titleweight": "normal",
    "axes.labelsize": 12,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "legend.fontsize": 11,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.edgecolor": ROLES["muted"],
    "axes.labelcolor": ROLES["ink"],
    "axes.titlecolor": ROLES["ink"],
    "text.color": ROLES["ink"],
    "xtick.color": ROLES["muted"],
    "ytick.color": ROLES["muted"],
    "xtick.labelcolor": ROLES["ink"],
    "ytick.labelcolor": ROLES["ink"],
    "grid.color": ROLES["grid"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "image.interpolation": "none",
    "figure.dpi": 72,
    "savefig.dpi": 72,
}


@contextmanager
def look() -> Iterator[None]:
    """Figures are made, and turned into SVG, inside of this."""
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(LOOK)  # type: ignore[arg-type]
        # A reader's fonts hold more than the one that measures, so its gaps do not matter.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield


def colour(role: str) -> str:
    """What matplotlib draws a role with."""
    return ROLES[role]


def regime_colour(name: str) -> str:
    """The colour of a regime; of anything else, such as the initial weights, the muted one."""
    return colour(f"regime{REGIMES.index(name)}") if name in REGIMES else colour("muted")


def source_colour(index: int) -> str:
    """The colour of a source; they repeat from the seventeenth on."""
    return SOURCES[index % len(SOURCES)]


def figure(width: float, height: float) -> Figure:
    """An empty figure, in pixels."""
    return Figure(figsize=(width * PIXEL, height * PIXEL), layout="constrained")


def panel(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of one picture, in pixels."""
    whole = figure(width, height)
    return whole, whole.add_subplot()


def rows(axes: Axes, names: Sequence[str]) -> None:
    """A row for each name, from top to bottom."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)


def legend_above(axes: Axes, columns: int, **look: Any) -> None:
    """A legend in one line over the picture."""
    axes.legend(ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1), **look)


def colour_bar(axes: Axes | Sequence[Axes], image: ScalarMappable, **look: Any) -> Colorbar:
    """The scale of a heat map's colours, without a frame."""
    whole = (axes if isinstance(axes, Axes) else axes[0]).figure
    bar = whole.colorbar(image, ax=axes, **look)
    bar.outline.set_visible(False)
    return bar


def grid(axes: Axes, along: str = "y") -> None:
    """Thin lines behind the data, across the axis `x`, `y` or `both`."""
    axes.grid(axis=along, linewidth=0.7)  # type: ignore[arg-type]
    axes.tick_params(length=3)


def number(value: float, digits: int = 2) -> str:
    """A rounded number, without a sign where it is rounded to 0."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def logarithmic(axis: Axis) -> None:
    """A logarithmic scale with plain numbers at its powers of ten."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})  # type: ignore[attr-defined]
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def bare_image(axes: Axes) -> None:
    """Axes of a heat map need no frame and no tick marks."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def on_heat(axes: Axes, x: float, y: float, text: str, share: float, balance: bool = False) -> None:
    """Write into a cell of a heat map, dark on light and light on dark.

    Args:
        share: where the cell's value stands in the colour map, 0 to 1.
        balance: the colour map is `BALANCE`, else `HEAT`.
    """
    light = 0.2 < share < 0.8 if balance else share > 0.55
    axes.text(
        x, y, text, ha="center", va="center", fontsize=10, color="#000001" if light else "#fffffd"
    )


def balance(axes: Axes, values: NDArray[np.floating], most: float, digits: int | None) -> AxesImage:
    """A heat map about 0.

    Args:
        values: (rows, columns); what is not finite stays blank.
        most: the largest absolute value that the colours show.
        digits: of the numbers written into the cells; None writes none.
    """
    if digits is not None:
        for row, column in np.argwhere(np.isfinite(values)):
            value = float(values[row, column])
            on_heat(axes, column, row, number(value, digits), (value / most + 1) / 2, balance=True)
    return axes.imshow(values, cmap=BALANCE, vmin=-most, vmax=most)


def cut_map(name: str, low: float, high: float) -> ListedColormap:
    """A part of a colour map."""
    whole = mpl.colormaps[name]
    return ListedColormap([whole(low + (high - low) * i / 255) for i in range(256)])


def same_scales(figures: Sequence[Figure]) -> None:
    """Give figures of the same kind the same scales: of their axes and of their colours."""
    for axes in zip(*(one.axes for one in figures), strict=True):
        if any(one.get_label() == "<colorbar>" for one in axes):
            continue
        lows, highs = zip(*(one.get_ylim() for one in axes), strict=True)
        lefts, rights = zip(*(one.get_xlim() for one in axes), strict=True)
        for one in axes:
            turned = lows[0] > highs[0]
            one.set_ylim((max if turned else min)(lows), (min if turned else max)(highs))
            one.set_xlim(min(lefts), max(rights))
        for images in zip(*(one.images for one in axes), strict=False):
            least, most = zip(*(image.get_clim() for image in images), strict=True)
            for image in images:
                image.set_clim(min(least), max(most))


def svg(figure: Figure, name: str, alternative: str) -> str:
    """A figure as SVG that stands in a page or in a file of its own.

    Args:
        figure: made inside of `look`.
        name: begins every id, so that pictures in a page do not share any.
        alternative: what the picture shows, in words.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    body = text[text.index("<svg") :]
    body = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.DOTALL
    )
    body = re.sub(r"<defs>\s*</defs>", "", body)
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', body))
    body = re.sub(
        r' id="([^"]*)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", body
    )
    body = re.sub(r'(url\(|href=")#', rf"\1#{name}-", body)
    body = re.sub(r"<[^>]*>", _shorten, body)
    body = re.sub(r"\n\s*", "\n", body).strip()
    width, height = figure.get_size_inches() / PIXEL
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        f' viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img"'
        f' aria-label="{escape(alternative)}" font-family="system-ui, sans-serif"'
        ' stroke-linejoin="round">'
    )
    return head + body[body.index(">") + 1 :]


def _shorten(match: re.Match[str]) -> str:
    tag = match[0]
    places = 2 if tag.startswith("<path") else 3
    tag = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.{places}f}", tag)
    tag = re.sub(r"font: ((?:bold |italic )?)([\d.]+px)[^;\"]*", _font, tag)
    return _COLOURS.sub(lambda value: f"var(--{_ROLE[value[0]]},{value[0]})", tag)


def _font(match: re.Match[str]) -> str:
    weight = "; font-weight: bold" if match[1] == "bold " else ""
    return f"font-size: {match[2]}{weight}"


_ROLE = {colour: role for role, colour in ROLES.items()}
_COLOURS = re.compile("|".join(_ROLE))
