"""Shells on login nodes that outlive the web process.

`worker` owns the SSH connections and runs in `manage.py terminals`; `slurm.consumers` is the browser's side and reaches
a worker through `link`. What they say to each other is `wire`; who owns which session stands in Redis (`registry`).
Only `shell` knows asyncssh. Nothing here touches the database: the command hands the worker what it needs of it.
"""
