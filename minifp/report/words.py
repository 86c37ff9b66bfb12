"""Numbers in words: one spelling for the screen, the pictures and the page."""

import math
import re

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS = "−"


def spaced(name: str) -> str:
    """A name in words: "optimizer state" of optimizer_state."""
    return name.replace("_", " ")


def is_number(value) -> bool:
    """Whether there is a finite value to print."""
    return value is not None and math.isfinite(value)


def decimals(margin: float) -> int:
    """How many decimals show a tenth of the margin: 2 for 0.5, 3 for 0.03."""
    return max(0, 1 - math.floor(math.log10(margin)))


def fixed(value, places) -> str:
    """A number with so many decimals, or with three digits where these are None; a dash where there
    is none; very large ones in short."""
    if not is_number(value):
        return "-"
    if places is None:
        return f"{value:.3g}"
    return f"{value:.{places}f}" if abs(value) < 1e6 else f"{value:.2g}"


def signed(value, places) -> str:
    """The same with its sign. What is written as zero has none."""
    text = fixed(value, places)
    if not text.strip("-0."):
        return text.lstrip("-") or "-"
    return text if text.startswith("-") else "+" + text


def typeset(text: str) -> str:
    """With real minus signs, for pictures and pages."""
    return text.replace("-", MINUS)


def printed(text: str) -> str:
    """As pages print it: raised exponents, and real minus signs before numbers and for nothing."""
    return re.sub(r"(?<![\w=^-])-(?=[\d.])|^-$", MINUS, raised(text))


def interval_text(value, low, high, places) -> str:
    """A difference with its interval, as far as they are known: "+0.4 [+0.1, +0.7]"."""
    if not is_number(value):
        return "-"
    ends = f" [{signed(low, places)}, {signed(high, places)}]" if is_number(low) else ""
    return signed(value, places) + ends


def bytes_text(count) -> str:
    """812 B, 37.2 KiB, 1.24 MiB: three digits."""
    if not is_number(count):
        return "-"
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 999.5:
            break
        size, unit = size / 1024, larger
    return f"{size:.0f} B" if unit == "B" else f"{three_digits(size)} {unit}"


def seconds_text(seconds) -> str:
    """4.21 ms, 1.24 s: three digits."""
    if not is_number(seconds):
        return "-"
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 0.9995:
            return f"{three_digits(seconds * factor)} {unit}"
    return f"{three_digits(seconds * 1e6)} us"


def three_digits(value: float) -> str:
    """Three significant digits without an exponent, as far as there are decimals to drop."""
    places = 2 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:.{min(2, max(0, places))}f}"


def power_of_two(value) -> int | None:
    """k where value is 2^k, else None."""
    if not is_number(value) or value <= 0:
        return None
    mantissa, exponent = math.frexp(value)
    return exponent - 1 if mantissa == 0.5 else None


def scale_text(scale) -> str:
    """A loss scale, or a mean of some: 2^16 where it is a power of two, else its digits."""
    k = power_of_two(scale)
    if k is None:
        if not is_number(scale):
            return "-"
        return f"{scale:.0f}" if abs(scale) >= 1000 else f"{scale:.4g}"
    return f"2^{k}" if k else "1"


def superscript(k: int) -> str:
    """2 to the k with a raised exponent."""
    return "2" + str(k).translate(SUPERSCRIPTS)


def count_text(value, places=1) -> str:
    """A mean of counts: without decimals where it is whole."""
    if not is_number(value):
        return "-"
    return f"{value:.0f}" if value == round(value) else f"{value:.{places}f}"


def plural(n: int, word: str) -> str:
    """1 seed, 2 seeds."""
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"


def listed(items) -> str:
    """a, b and c; nothing for nothing."""
    *first, last = [*items] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def raised(text: str) -> str:
    """With raised exponents: 2^-11 becomes 2⁻¹¹, and 5.04e+05 5.04·10⁵."""
    text = re.sub(r"(\d\.\d+)e([+-]\d+)", lambda match: f"{match[1]}·10^{int(match[2])}", text)
    return re.sub(r"\^(-?\d+)", lambda match: match[1].translate(SUPERSCRIPTS), text)


def short(value) -> str:
    """A number of any size in four digits: 0.9831, 1.2·10⁻⁵."""
    if not is_number(value):
        return "-"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return typeset(f"{value:.4g}")
    digits, power = f"{value:.2e}".split("e")
    return typeset(f"{float(digits):g}·10") + str(int(power)).translate(SUPERSCRIPTS)


def percent(share: float) -> str:
    """A share in percent."""
    return f"{short(100 * share)}%"


def share_text(n: float, total: float) -> str:
    """A share in percent, plainly: 0, 0.012%, 1.23%, 45.6%, 7.1e-4%."""
    if not n or not total:
        return "0"
    share = 100 * n / total
    if share < 0.001:
        return f"{share:.1e}%".replace("e-0", "e-")
    return f"{share:.3f}%" if share < 0.1 else f"{share:.2f}%" if share < 10 else f"{share:.1f}%"


def power_text(k: float) -> str:
    """2 to the k: raised where k is whole, else its value."""
    return superscript(int(k)) if k == int(k) else f"2^{typeset(f'{k:.3g}')}"
