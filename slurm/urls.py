"""Pages of what Slurm knows, below /t/<team>/c/<cluster>/."""

from django.urls import path

from slurm.views import (
    conf,
    job,
    job_steps,
    jobs,
    life,
    node_steps,
    nodes,
    overview,
    submission,
    terminal,
)

urlpatterns = [
    path("", overview.overview, name="cluster"),
    path("scale/", life.scale, name="scale"),
    path("reconfigure/", life.reconfigure, name="reconfigure"),
    path("terminate/", life.terminate, name="terminate"),
    path("delete/", life.delete, name="delete"),
    path("nodes/", nodes.nodes, name="nodes"),
    path("nodes/drain/", node_steps.drain, name="node-drain"),
    path("nodes/resume/", node_steps.resume, name="node-resume"),
    path("nodes/reboot/", node_steps.reboot, name="node-reboot"),
    path("nodes/<str:name>/", nodes.node, name="node"),
    path("conf/", conf.conf, name="slurm-conf"),
    path("conf/keys/<str:version>/", conf.keys, name="slurm-conf-keys"),
    path("conf/check/", conf.check, name="slurm-conf-check"),
    path("conf/review/", conf.check_and_review, name="slurm-conf-review"),
    path("conf/apply/", conf.apply, name="slurm-conf-apply"),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/new/", submission.submit, name="job-submit"),
    path("jobs/new/advice/", submission.advice, name="job-advice"),
    path("jobs/cancellation/", job_steps.cancel, name="job-cancellation"),
    path("jobs/hold/", job_steps.hold, name="job-hold"),
    path("jobs/release/", job_steps.release, name="job-release"),
    path("jobs/requeue/", job_steps.requeue, name="job-requeue"),
    path("jobs/<str:job>/", job.job, name="job"),
    path("jobs/<str:job>/facts/", job.facts, name="job-facts"),
    path("terminal/", terminal.terminal, name="terminal"),
]
