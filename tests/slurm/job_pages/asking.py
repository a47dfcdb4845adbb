"""What the tests of job pages ask with."""

from collections.abc import Callable

from django.test import Client

from console.roles import Role

SignIn = Callable[[Role], Client]
SCRIPT = "#!/bin/bash\n#SBATCH --partition=all\nsrun hostname\n"
