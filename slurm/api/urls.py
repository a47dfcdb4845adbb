"""Routes of the API of nodes, partitions, jobs and slurm.conf, below /api/v1/."""

from django.urls import path

from slurm.api import (
    account_dump,
    accounts,
    certificates,
    conf,
    enforcement,
    files,
    jobs,
    nodes,
    partitions,
    restart,
    scripts,
    upgrade,
    usage,
)

CLUSTER = "teams/<slug:team>/clusters/<slug:cluster>"

urlpatterns = [
    path(f"{CLUSTER}/nodes", nodes.Nodes.as_view(), name="api-nodes"),
    path(f"{CLUSTER}/nodes/<str:name>", nodes.NodeDetail.as_view(), name="api-node"),
    path(f"{CLUSTER}/actions/drain", nodes.Drain.as_view(), name="api-drain"),
    path(f"{CLUSTER}/actions/resume", nodes.Resume.as_view(), name="api-resume"),
    path(f"{CLUSTER}/actions/reboot", restart.Reboot.as_view(), name="api-reboot"),
    path(f"{CLUSTER}/actions/restart", restart.Restart.as_view(), name="api-restart"),
    path(f"{CLUSTER}/actions/update-image", upgrade.UpdateImage.as_view(), name="api-update-image"),
    path(f"{CLUSTER}/images", upgrade.Images.as_view(), name="api-images"),
    path(f"{CLUSTER}/slurm-conf", conf.SlurmConf.as_view(), name="api-slurm-conf"),
    path(f"{CLUSTER}/slurm-conf/check", conf.SlurmConfCheck.as_view(), name="api-slurm-conf-check"),
    path(f"{CLUSTER}/scripts", scripts.Scripts.as_view(), name="api-scripts"),
    path(f"{CLUSTER}/worker-scripts", scripts.WorkerScriptVersions.as_view(), name="api-worker-scripts"),
    path(f"{CLUSTER}/scripts/<str:hook>", scripts.ScriptDetail.as_view(), name="api-script"),
    path(f"{CLUSTER}/scripts/<str:hook>/check", scripts.ScriptCheck.as_view(), name="api-script-check"),
    path(f"{CLUSTER}/scripts/<str:hook>/try", scripts.ScriptTrial.as_view(), name="api-script-try"),
    path(f"{CLUSTER}/partitions", partitions.Partitions.as_view(), name="api-partitions"),
    path(f"{CLUSTER}/partitions/<str:name>", partitions.PartitionDetail.as_view(), name="api-partition"),
    path(f"{CLUSTER}/jobs", jobs.Jobs.as_view(), name="api-jobs"),
    path(f"{CLUSTER}/jobs/<str:job_id>", jobs.JobDetail.as_view(), name="api-job"),
    path(f"{CLUSTER}/actions/cancel", jobs.Cancel.as_view(), name="api-cancel"),
    path(f"{CLUSTER}/actions/hold", jobs.Hold.as_view(), name="api-hold"),
    path(f"{CLUSTER}/actions/release", jobs.Release.as_view(), name="api-release"),
    path(f"{CLUSTER}/actions/requeue", jobs.Requeue.as_view(), name="api-requeue"),
    path(f"{CLUSTER}/ssh-certificate", certificates.SshCertificate.as_view(), name="api-ssh-certificate"),
    path(f"{CLUSTER}/files", files.Files.as_view(), name="api-files"),
    path(f"{CLUSTER}/files/entry", files.FileEntry.as_view(), name="api-file-entry"),
    path(f"{CLUSTER}/files/text", files.FileText.as_view(), name="api-file-text"),
    path(f"{CLUSTER}/files/content", files.FileContent.as_view(), name="api-file-content"),
    path(f"{CLUSTER}/files/folders", files.FileFolders.as_view(), name="api-file-folders"),
    path(f"{CLUSTER}/files/rename", files.FileRename.as_view(), name="api-file-rename"),
    path(f"{CLUSTER}/files/uploads", files.FileUploads.as_view(), name="api-file-uploads"),
    path(f"{CLUSTER}/files/uploads/<str:upload>", files.FileUpload.as_view(), name="api-file-upload"),
    path(
        f"{CLUSTER}/files/uploads/<str:upload>/finish",
        files.FileUploadFinish.as_view(),
        name="api-file-upload-finish",
    ),
    path(f"{CLUSTER}/enforcement", enforcement.Enforcement.as_view(), name="api-enforcement"),
    path(f"{CLUSTER}/account-dump", account_dump.AccountDump.as_view(), name="api-account-dump"),
    path(f"{CLUSTER}/account-restore", account_dump.AccountRestore.as_view(), name="api-account-restore"),
    path(f"{CLUSTER}/accounts", accounts.Accounts.as_view(), name="api-accounts"),
    path(f"{CLUSTER}/accounts/<str:account>", accounts.AccountDetail.as_view(), name="api-account"),
    path(
        f"{CLUSTER}/accounts/<str:account>/coordinators",
        accounts.AccountCoordinators.as_view(),
        name="api-account-coordinators",
    ),
    path(
        f"{CLUSTER}/accounts/<str:account>/users", accounts.AccountPeople.as_view(), name="api-account-people"
    ),
    path(
        f"{CLUSTER}/accounts/<str:account>/users/<str:user>",
        accounts.AccountPerson.as_view(),
        name="api-account-person",
    ),
    path(
        f"{CLUSTER}/account-users/<str:user>", accounts.AccountUserDetail.as_view(), name="api-account-user"
    ),
    path(
        f"{CLUSTER}/account-users/<str:user>/usage", usage.UserUsage.as_view(), name="api-account-user-usage"
    ),
    path(f"{CLUSTER}/qos", accounts.QosList.as_view(), name="api-qos-list"),
    path(f"{CLUSTER}/qos/<str:qos>", accounts.QosDetail.as_view(), name="api-qos"),
    path(f"{CLUSTER}/usage", usage.Usage.as_view(), name="api-usage"),
]
