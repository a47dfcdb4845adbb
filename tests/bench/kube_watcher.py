"""The watcher as a process that can be asked what it has cost: `python -m tests.bench.kube_watcher`.

It is `manage.py watch` with one more thread: each line on its standard input is answered with one line of JSON, and the
end of the input ends it.
"""

import json
import sys
import threading
import time
from pathlib import Path

import django


def main() -> None:
    django.setup()
    from django.conf import settings

    from clusters.watcher import Held, Watcher

    class Counted(Watcher):
        def _look(self, held: Held) -> None:
            looks.append(held.pk)
            super()._look(held)

    looks: list[int] = []
    stop = threading.Event()
    threading.Thread(target=_answer, args=(stop, looks), daemon=True).start()
    Counted(settings.WATCH_TICK_S).run(stop)


def _answer(stop: threading.Event, looks: "list[int]") -> None:
    for _ in sys.stdin:
        print(json.dumps({**_cost(), "looks": len(looks)}), flush=True)
    stop.set()


def _cost() -> dict[str, object]:
    """Since the process began. `requests` go by verb; a command in a pod is a `create`."""
    from slurm.provisioners.slinky import region_kube

    requests = {verb: n for kept in region_kube._kept.values() for verb, n in kept.kube.requests.items()}
    return {"cpu_s": time.process_time(), "peak_mib": _peak_mib(), "requests": requests}


def _peak_mib() -> float:
    """VmHWM of proc(5): that of getrusage(2) may be the parent's."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
