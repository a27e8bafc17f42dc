"""Event sourcing: commands are decided against a view and become events; one person's data can be forgotten."""

from headrace.events.decisions import Decided, Rejected, decide_all
from headrace.events.handler import CommandHandler

__all__ = ["CommandHandler", "Decided", "Rejected", "decide_all"]
