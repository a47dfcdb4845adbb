"""Routes of the API of nodes, partitions, jobs and slurm.conf, below /api/v1/."""

from django.urls import path

from slurm.api import conf, jobs, nodes, partitions, restart

CLUSTER = "teams/<slug:team>/clusters/<slug:cluster>"

urlpatterns = [
    path(f"{CLUSTER}/nodes", nodes.Nodes.as_view(), name="api-nodes"),
    path(f"{CLUSTER}/nodes/<str:name>", nodes.NodeDetail.as_view(), name="api-node"),
    path(f"{CLUSTER}/actions/drain", nodes.Drain.as_view(), name="api-drain"),
    path(f"{CLUSTER}/actions/resume", nodes.Resume.as_view(), name="api-resume"),
    path(f"{CLUSTER}/actions/reboot", nodes.Reboot.as_view(), name="api-reboot"),
    path(f"{CLUSTER}/actions/restart", restart.Restart.as_view(), name="api-restart"),
    path(f"{CLUSTER}/slurm-conf", conf.SlurmConf.as_view(), name="api-slurm-conf"),
    path(f"{CLUSTER}/slurm-conf/check", conf.SlurmConfCheck.as_view(), name="api-slurm-conf-check"),
    path(f"{CLUSTER}/partitions", partitions.Partitions.as_view(), name="api-partitions"),
    path(f"{CLUSTER}/partitions/<str:name>", partitions.PartitionDetail.as_view(), name="api-partition"),
    path(f"{CLUSTER}/jobs", jobs.Jobs.as_view(), name="api-jobs"),
    path(f"{CLUSTER}/jobs/<str:job_id>", jobs.JobDetail.as_view(), name="api-job"),
    path(f"{CLUSTER}/actions/cancel", jobs.Cancel.as_view(), name="api-cancel"),
    path(f"{CLUSTER}/actions/hold", jobs.Hold.as_view(), name="api-hold"),
    path(f"{CLUSTER}/actions/release", jobs.Release.as_view(), name="api-release"),
    path(f"{CLUSTER}/actions/requeue", jobs.Requeue.as_view(), name="api-requeue"),
]
