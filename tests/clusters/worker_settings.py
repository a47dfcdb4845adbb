"""The console's settings for worker processes of the tests: fake clusters, and lost changes found at once."""

from console.settings import *  # noqa: F403

PROVISIONERS = {"fake": "tests.fakes.FakeProvisioner"}
RECORDERS = ["clusters.watch.record"]
CELERY_BEAT_SCHEDULE = {"resume-changes": {"task": "clusters.tasks.resume_changes", "schedule": 0.5}}
