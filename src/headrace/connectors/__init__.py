"""Where rows come from and go to: options (pure), sources and sinks (Spark)."""
