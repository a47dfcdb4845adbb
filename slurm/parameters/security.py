"""Who may talk to Slurm, as whom, and see what. A table; see `slurm.parameters.model` for its notation."""

from slurm.parameters.model import Owner, owned, row, themed
from slurm.parameters.reasons import ACCESS

SECURITY = themed(
    "Security",
    row("choices", "PrivateData", "What other people's users do not see.", "",
        words="accounts all cloud@..23.02 events jobs nodes none partitions reservations usage users"),
    row("bool", "UsePAM", "Let PAM set the limits of tasks; 1 or yes turns it on.", "NO"),
    row("choice", "MCSPlugin", "Keep jobs of different groups or users apart on nodes.", "",
        words="mcs/none mcs/account mcs/group mcs/label@24.11.. mcs/user", restart="23.02"),
    row("text", "MCSParameters",
        "How that separation works, such as ondemand,noselect,privatedata:groupA|groupB.", ""),
    row("choice", "HashPlugin", "The checksum of messages between daemons.", "hash/k12",
        words="hash/k12 hash/sha3", since="24.05"),
    *owned(
        Owner.OPERATOR,
        ACCESS,
        row("choice", "AuthType", "How daemons and commands prove who they are.", "auth/munge",
            words="auth/munge auth/none auth/slurm@23.11..", restart="always"),
        row("text", "AuthInfo", "Options of that proof.", ""),
        row("choices", "AuthAltTypes", "Further ways of proof, for the REST API.", "",
            words="auth/jwt auth/none", restart="always"),
        row("text", "AuthAltParameters", "Options of those ways.", ""),
        row("choice", "CredType", "How a job's permission to run on a node is signed.", "cred/munge",
            words="cred/munge cred/none cred/slurm@23.11..", restart="always"),
        row("choice", "CryptoType", "The former name of CredType.", "", words="crypto/munge crypto/openssl",
            instead="CredType", restart="always"),
        row("choice", "TLSType", "Encrypt what daemons say to each other.", "tls/none",
            words="tls/none tls/s2n", since="24.05", restart="always"),
        row("options", "TLSParameters", "Certificates and options of that encryption.", "", since="24.05",
            is_open=True, restart="always"),
        row("choice", "CertmgrType", "The plugin that renews certificates.", "", words="certmgr/script",
            since="24.11"),
        row("options", "CertmgrParameters", "Options of that plugin.", "", since="24.11", is_open=True),
        row("choice", "CertgenType", "The plugin that makes certificates.", "", words="certgen/script",
            since="25.05"),
        row("options", "CertgenParameters", "Options of that plugin.", "", since="25.05", is_open=True),
        row("path", "JobCredentialPrivateKey", "A key that signed job permissions.", "", until="23.02",
            restart="23.02"),
        row("path", "JobCredentialPublicCertificate", "Its public half.", "", until="23.02",
            restart="23.02"),
        row("text", "SlurmctldHttpAuthParameters", "Who may ask the controller over HTTP.", "",
            since="26.05"),
        row("text", "SlurmdHttpAuthParameters", "Who may ask the nodes over HTTP.", "", since="26.05"),
        row("list", "MetricsAuthUsers", "Users who may read the controller's metrics.", "", since="26.05",
            needs="MetricsType"),
    ),
)  # fmt: skip

ROWS = SECURITY
