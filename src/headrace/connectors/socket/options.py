"""The options of the connector socket."""

from dataclasses import dataclass

from headrace.connectors.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketSource:
    """Lines of text from a TCP server; what was sent while nobody listened is lost."""

    host: str = option(doc="The machine to connect to.", default="127.0.0.1")
    port: int = option(doc="The TCP port to connect to.", example=9999, minimum=1, maximum=65535)
