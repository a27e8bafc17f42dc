"""The versions of a job and its savepoints, and what can be done with them."""

from functools import partial

from nicegui import ui

from headrace.server.console.formatting import instant, size
from headrace.server.console.pages.job_actions import JobActions
from headrace.server.console.parts import Tag, box, button, card, dialog, empty
from headrace.server.console.values.jobs import Job, Version

__all__ = ["build_versions"]


def build_versions(job: Job, actions: JobActions) -> None:
    """Build the tables of versions and savepoints."""
    with box("stack"):
        with card("Versions"), box("scroll-x"), box("table", "table"):
            _heads("Version", "Submitted", "By", "")
            with box(tag="tbody"):
                for number, version in enumerate(job.versions):
                    with box(tag="tr"):
                        with box("name", "td"):
                            Tag("span", str(version.number))
                            if number == 0:
                                Tag("span", "current", "tag").style("margin-left:8px")
                        Tag("td", instant(version.submitted_at), "number")
                        Tag("td", version.submitted_by)
                        with box("right", "td"):
                            button("Show SQL", partial(_show, version), kind="small")
        with card("Savepoints"):
            if not job.savepoints:
                empty("No savepoint", "Stop the job with a savepoint, or make one while it runs.", "save")
                return
            with box("scroll-x"), box("table", "table"):
                _heads("Savepoint", "Made", "Version", "Size", "State", "")
                with box(tag="tbody"):
                    for savepoint in job.savepoints:
                        with box(tag="tr"):
                            Tag("td", savepoint.id, "name mono")
                            Tag("td", instant(savepoint.made_at), "number")
                            Tag("td", str(savepoint.version))
                            Tag("td", size(savepoint.size_bytes), "number")
                            Tag("td", savepoint.state, "muted")
                            with box("right", "td"):
                                if actions.may["restart"]:
                                    button("Restart from here", partial(actions.restart, savepoint.id), kind="small")
                                if actions.may["delete"]:
                                    drop = partial(actions.delete_savepoint, savepoint.id)
                                    button("Delete", drop, kind="small danger", title=f"Delete {savepoint.id}")


def _heads(*heads: str) -> None:
    with box(tag="thead"), box(tag="tr"):
        for head in heads:
            Tag("th", head)


def _show(version: Version) -> None:
    with dialog(f"Version {version.number}") as shown:
        with box("editor-box").style("height:56vh"):
            code = ui.codemirror(version.text, language="SQL")
            code.disable()
        ui.run_javascript(f"headrace.dress({code.id})")
        with box("dialog-actions"):
            button("Close", shown.close)
