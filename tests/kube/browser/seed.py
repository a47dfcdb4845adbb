"""People with passwords and tokens, and one image: `python -m tests.kube.browser.seed RUN_JSON URL`."""

import json
import sys
from pathlib import Path

import django


def main(run_json: str, url: str) -> None:
    django.setup()
    from clusters.models import Image
    from slurm.demo import scene

    _team, users = scene.make_people({})
    [newest] = [image for image in scene.IMAGES if image["slurm_version"] == "26.05"]
    Image.objects.get_or_create(
        slug=newest["slug"], defaults={**newest, "slurm_conf": scene.DEFAULT_USER_CONF}
    )
    Path(run_json).write_text(json.dumps({"url": url, "users": users}))


if __name__ == "__main__":
    main(*sys.argv[1:])
