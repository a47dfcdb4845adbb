"""Every page and API route. Nouns; a verb becomes a sub-resource."""

from django.contrib import admin
from django.urls import include, path

from clusters.views import personal_keys
from console.views import (
    activity,
    factors,
    health,
    invitations,
    members,
    policy,
    profile,
    sign_in,
    teams,
)
from slurm.views import health as terminal_health
from slurm.views import own_terminals, recordings
from slurm.views.jobs import team_jobs
from slurm.views.nodes import team_nodes

urlpatterns = [
    path("", sign_in.home, name="home"),
    path("sign-in/", sign_in.SignIn.as_view(), name="sign-in"),
    path("sign-in/second-factor/", sign_in.second_factor, name="second-factor"),
    path("sign-in/start-over/", sign_in.start_over, name="start-over"),
    path("sign-in/passkey/", sign_in.passkey, name="passkey"),
    path("sign-in/passkey/options/", sign_in.passkey_options, name="passkey-options"),
    path("sign-in/provider/", sign_in.provider, name="oidc"),
    path("sign-in/provider/callback/", sign_in.provider_callback, name="oidc-callback"),
    path("sign-in/confirmation/", sign_in.confirm_person, name="confirm"),
    path("sign-out/", sign_in.SignOut.as_view(), name="sign-out"),
    path("profile/", profile.profile, name="profile"),
    path("profile/tokens/new/", profile.new_token, name="token-new"),
    path("profile/tokens/<int:number>/revocation/", profile.token_revocation, name="token-revocation"),
    path("profile/ssh-keys/new/", personal_keys.add, name="ssh-key-new"),
    path("profile/ssh-keys/<int:number>/removal/", personal_keys.remove, name="ssh-key-removal"),
    path("profile/app/", factors.new_app, name="app-new"),
    path("profile/app/removal/", factors.app_removal, name="app-removal"),
    path("profile/passkeys/new/", factors.new_passkey, name="passkey-new"),
    path("profile/passkeys/options/", factors.passkey_options, name="passkey-new-options"),
    path("profile/passkeys/<int:number>/removal/", factors.passkey_removal, name="passkey-removal"),
    path("profile/recovery-codes/", factors.recovery_codes, name="recovery-codes"),
    path("profile/sessions/", profile.sessions, name="sessions"),
    path("profile/sessions/end/", profile.sessions_end, name="sessions-end"),
    path("profile/sessions/<slug:session>/end/", profile.session_end, name="session-end"),
    path("profile/terminals/", own_terminals.terminals, name="own-terminals"),
    path("profile/terminals/<slug:session>/closing/", own_terminals.closing, name="own-terminal-closing"),
    path("invitations/<str:token>/", invitations.invitation, name="invitation"),
    path("healthz", health.health, name="health"),
    path("terminals/", terminal_health.terminals, name="terminal-health"),
    path("teams/", teams.teams, name="teams"),
    path("teams/new/", teams.new_team, name="team-new"),
    path("regions/", include("clusters.region_urls")),
    path("t/<slug:team>/", include("clusters.urls")),
    path("t/<slug:team>/", include("storage.urls")),
    path("t/<slug:team>/members/", members.members, name="members"),
    path("t/<slug:team>/members/add/", members.add_member, name="member-add"),
    path("t/<slug:team>/members/role/", members.member_role, name="member-role"),
    path("t/<slug:team>/members/removal/", members.member_removal, name="member-removal"),
    path("t/<slug:team>/members/slurm-users/", members.slurm_users, name="slurm-users"),
    path("t/<slug:team>/members/leaving/", members.leaving, name="member-leaving"),
    path("t/<slug:team>/members/ownership/", members.ownership, name="ownership"),
    path("t/<slug:team>/members/invitations/new/", invitations.new_invitation, name="invitation-new"),
    path(
        "t/<slug:team>/members/invitations/<int:number>/revocation/",
        invitations.invitation_revocation,
        name="invitation-revocation",
    ),
    path("t/<slug:team>/policy/", policy.policy, name="policy"),
    path("t/<slug:team>/activity/", activity.activity, name="activity"),
    path("t/<slug:team>/activity.csv", activity.activity_sheet, name="activity-sheet"),
    path("t/<slug:team>/activity.jsonl", activity.activity_lines, name="activity-lines"),
    path("t/<slug:team>/jobs/", team_jobs, name="team-jobs"),
    path("t/<slug:team>/nodes/", team_nodes, name="team-nodes"),
    path("t/<slug:team>/recordings/", recordings.recordings, name="recordings"),
    path("t/<slug:team>/recordings/settings/", recordings.settings, name="recording-settings"),
    path("t/<slug:team>/recordings/<slug:recording>/", recordings.recording, name="recording"),
    path("t/<slug:team>/recordings/<slug:recording>/cast/", recordings.cast, name="recording-cast"),
    path("t/<slug:team>/c/<slug:cluster>/", include("slurm.urls")),
    path("api/", include("console.api")),
    path("admin/", admin.site.urls),
]
