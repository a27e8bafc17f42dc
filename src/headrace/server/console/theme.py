"""How the console looks: the files it serves, its icons, and the tone in which a state is shown."""

from hashlib import sha256
from pathlib import Path

__all__ = ["ICONS", "LOGO", "STATIC", "asset", "head_html", "icon", "tone_of_health", "tone_of_state", "word_of_health"]

STATIC = Path(__file__).with_name("static")
PREFIX = "/_console"

_TONES = {
    "running": "good",
    "submitted": "busy",
    "starting": "busy",
    "restarting": "warn",
    "degraded": "warn",
    "stopping": "busy",
    "stopped": "idle",
    "finished": "idle",
    "failed": "bad",
}
_HEALTH = {"good": ("good", "Healthy"), "warning": ("warn", "Attention"), "bad": ("bad", "Trouble")}

ICONS = {
    "overview": '<path d="M4 13h4v7H4zM10 4h4v16h-4zM16 9h4v11h-4z"/>',
    "editor": '<path d="m8 8-4 4 4 4M16 8l4 4-4 4M13.5 5l-3 14"/>',
    "views": '<path d="M4 5h16v14H4zM4 10h16M10 10v9"/>',
    "catalog": '<path d="M4 7c3-3 5 3 8 0s5 3 8 0M4 12.5c3-3 5 3 8 0s5 3 8 0M4 18c3-3 5 3 8 0s5 3 8 0"/>',
    "dashboards": '<path d="M4 4h7v9H4zM13 4h7v5h-7zM13 11h7v9h-7zM4 15h7v5H4z"/>',
    "alerts": '<path d="M6 16v-5a6 6 0 0 1 12 0v5l2 2H4zM10 21h4"/>',
    "people": (
        '<circle cx="9" cy="8" r="3.5"/><path d="M3 20c0-4 2.5-6 6-6s6 2 6 6'
        'M16 5a3.5 3.5 0 0 1 0 6.5M17.5 14.5c2.3.7 3.5 2.6 3.5 5.5"/>'
    ),
    "theme": '<circle cx="12" cy="12" r="8"/><path d="M12 4a8 8 0 0 0 0 16z" fill="currentColor"/>',
    "leave": '<path d="M10 4H5v16h5M14 8l4 4-4 4M18 12H9"/>',
    "play": '<path d="M7 5v14l11-7z"/>',
    "stop": '<path d="M6 6h12v12H6z"/>',
    "restart": '<path d="M19 12a7 7 0 1 1-2.2-5.1M19 4v4h-4"/>',
    "up": '<path d="m6 14 6-6 6 6"/>',
    "left": '<path d="m14 6-6 6 6 6"/>',
    "right": '<path d="m10 6 6 6-6 6"/>',
    "plus": '<path d="M12 5v14M5 12h14"/>',
    "edit": '<path d="M5 19l1-4L16 5l3 3L9 18z"/>',
    "bin": '<path d="M5 7h14M10 4h4M7 7l1 13h8l1-13"/>',
    "check": '<path d="m5 12.5 4.5 4.5L19 7.5"/>',
    "save": '<path d="M5 4h11l3 3v13H5zM8 4v5h7V4M8 20v-6h8v6"/>',
}

LOGO = (
    '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="var(--accent)"/>'
    '<path d="M6 12c3.3-3.6 6.6 3.6 10 0s6.6 3.6 10 0M6 20c3.3-3.6 6.6 3.6 10 0s6.6 3.6 10 0" fill="none" '
    'stroke="var(--on-accent)" stroke-width="2.6" stroke-linecap="round"/></svg>'
)
FAVICON = LOGO.replace("var(--accent)", "#0b6e8e").replace("var(--on-accent)", "#fff")


def icon(name: str) -> str:
    """Return an icon as SVG, in the colour of the text around it."""
    return (
        '<svg class="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" '
        f'stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">{ICONS[name]}</svg>'
    )


def tone_of_state(state: str) -> str:
    """Return the class that colours a job's state.

    >>> tone_of_state("running"), tone_of_state("who knows")
    ('tone-good', 'tone-idle')
    """
    return f"tone-{_TONES.get(state, 'idle')}"


def tone_of_health(health: str) -> str:
    """Return the class that colours a job's health."""
    return f"tone-{_HEALTH.get(health, ('idle', ''))[0]}"


def word_of_health(health: str) -> str:
    """Return health as a word, for nothing is said by colour alone; what is not known yet has none.

    >>> word_of_health("warning"), word_of_health("unknown")
    ('Attention', '')
    """
    return _HEALTH.get(health, ("", ""))[1]


def asset(name: str) -> str:
    """Return where a file of the console is served; the address changes with its contents."""
    digest = sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"{PREFIX}/{name}?{digest}"


def head_html() -> str:
    """Return what every page has in its head."""
    return f'<link rel="stylesheet" href="{asset("console.css")}"><script src="{asset("console.js")}"></script>'
