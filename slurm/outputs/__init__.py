"""What Slurm prints, read into values. Pure: bytes in, values out; no process, no framework.

Slurm's answers hold text that any user may choose. Every reader here assumes the worst of it, and raises
`text.Unreadable` for an answer that is cut off or of another shape: that is never the same as an empty
answer.
"""
