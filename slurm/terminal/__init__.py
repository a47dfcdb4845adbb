"""Shells on login nodes that outlive the web process.

`worker` owns the SSH connections and runs in `manage.py terminals`; `slurm.consumers` is the browser's side and reaches
a worker through `link`. What they say to each other is `wire`; who owns which session stands in Redis (`registry`).
`ssh` makes the connections and `shell` the shells on them; `tunnel` knows how to get there where no address leads. The
worker itself never touches the database: the command hands it what it needs of it, and a tunnel's opener asks in a
thread of its own.
"""
