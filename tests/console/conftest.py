"""The cast, and an admin beside it."""

import pytest

from console.models import Membership
from console.roles import Role
from tests.cast import Cast, person, the_cast


@pytest.fixture
def cast(db: None) -> Cast:
    return the_cast()


@pytest.fixture
def lin(cast: Cast) -> Membership:
    """An admin."""
    return Membership.objects.create(team=cast.team, user=person("lin"), role=Role.ADMIN)
