"""The login node's files through SFTP, with the same certificate and the same rights as the terminal.

`acts` is what pages and the API call; it asks for nothing that the door did not allow and writes the audit trail. It
speaks through `asking` to a terminal worker, where `server` answers: `sftp` does the work over connections that `pool`
keeps for a minute. `paths` and `entries` are pure. A path is bytes everywhere: the login node's names are not all text.
"""
