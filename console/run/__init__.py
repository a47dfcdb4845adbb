"""Running a whole console from one checkout: the foreground command behind `make run`.

`python -m console.run` starts PostgreSQL, Redis, the migrations, the demo data and every process of the console,
watches them, and leaves nothing behind when it ends. It is not a deployment tool: with `DATABASE_URL` and
`REDIS_URL` set, the same processes are started one by one by whatever runs them. Nothing here imports Django,
because the services must be up before the settings are read; nothing but the standard library, because `deploy/`
uses parts of it before any dependency is installed.
"""
