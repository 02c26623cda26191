"""What of the site is no test: its settings, and what a build makes."""

collect_ignore = ["conf.py", "gallery", "_build"]
