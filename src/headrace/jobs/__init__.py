"""One application is one job: a process of its own that is started, watched, restarted and stopped."""
