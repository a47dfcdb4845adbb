"""The demo as people use it: one whole real console, a genuine cluster, and Chromium looking at it."""
