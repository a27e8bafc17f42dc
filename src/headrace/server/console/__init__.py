"""The console: pages in the browser over a :class:`~headrace.server.console.backend.Backend`."""
