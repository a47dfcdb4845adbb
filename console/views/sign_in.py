"""Signing in, and where a person lands."""

from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator

from console import live
from console.access import PUBLIC, SIGNED_IN, declares, teams_of
from console.errors import TooMany
from console.page import render_page, with_headers


@method_decorator(login_not_required, name="dispatch")
class SignIn(auth_views.LoginView):
    template_name = "console/sign_in.html"
    redirect_authenticated_user = True
    action = PUBLIC

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        try:
            return super().post(request, *args, **kwargs)
        except TooMany as error:
            context = self.get_context_data(form=self.get_form_class()(request), error=error)
            return with_headers(self.render_to_response(context, status=error.status), error)


class SignOut(auth_views.LogoutView):
    """Ends the session, and with it what its sockets may: they ask again at once."""

    action = SIGNED_IN

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        person = request.user.pk
        response = super().post(request, *args, **kwargs)
        if person is not None:
            live.rights_changed(person)
        return response


@declares(SIGNED_IN)
def home(request: HttpRequest) -> HttpResponse:
    """The person's only team, or the list of their teams."""
    teams = teams_of(request.user)
    if len(teams) == 1:
        return redirect("clusters", team=teams[0].slug)
    return render_page(request, "console/teams.html", {"teams": teams})
