"""Whether this process answers. It asks neither database nor Redis: pages say for themselves when those are gone."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse

from console.access import PUBLIC, declares


@login_not_required
@declares(PUBLIC)
def health(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")
