"""Lines of slurm.conf that only a daemon finds fault with, each with what its complaint must name."""

BAD = {
    "FooBar=1": "FooBar",
    "SlurmctldTimeout=abc": "abc",
    "SelectType=select/nope": "select/nope",
    "SelectTypeParameters=CR_Bogus": "CR_Bogus",
    "PartitionName=px Nodes=ghost-[1-2]": "px",
    "PartitionName=px Nodes=slinky-[0-": "slinky-[0-",
    "NodeName=slinky-1 CPUs=8": "slinky-1",
    "PartitionName=px Nodes=slinky-0 State=FOO": "FOO",
    "PartitionName=px Nodes=slinky-0 MaxTime=banana": "banana",
    "PartitionName=px Nodes=slinky-0 Frob=1": "Frob",
    "NodeName=zz CPUs=many": "many",
    "garbage words here": "garbage",
    "PriorityType=priority/nope": "priority/nope",
    "AccountingStorageEnforce=bogus": "bogus",
    "StateSaveLocation=/nonexistent/state": "/nonexistent/state",
    "SlurmUser=nosuchuser": "nosuchuser",
    "Include /nonexistent/more.conf": "/nonexistent/more.conf",
}
