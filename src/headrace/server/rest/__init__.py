"""REST: requests go in, JSON comes out; who may what is asked of ``server.access`` for each."""
