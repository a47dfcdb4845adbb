"""Every setting, read once and typed; a wrong one stops the start with a sentence. Nothing else reads the environment.

`make run` sets DATABASE_URL, REDIS_URL and QUARTERDECK_SECRETS_DIR to its embedded services under var/. Point them
elsewhere to use real ones; nothing in the code changes.
"""

import os
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent


def text(name: str, default: str) -> str:
    return os.environ.get(name, default)


def flag(name: str, *, default: bool) -> bool:
    value = os.environ.get(name, "1" if default else "0").lower()
    if value not in {"0", "1", "true", "false", "yes", "no"}:
        raise ImproperlyConfigured(f"{name} is {value!r}; use 1 or 0.")
    return value in {"1", "true", "yes"}


def seconds(name: str, default: float) -> float:
    try:
        return float(os.environ.get(name, default))
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number of seconds.") from None


def count(name: str, default: int) -> int:
    value = os.environ.get(name, str(default))
    if not value.isdecimal() or int(value) < 1:
        raise ImproperlyConfigured(f"{name} must be a whole number above 0.")
    return int(value)


def networks(name: str) -> list[str]:
    """Addresses and networks (10.0.0.0/8), or none."""
    for part in names(name, ""):
        try:
            ip_network(part)
        except ValueError:
            raise ImproperlyConfigured(f"{name}: {part!r} is no address and no network.") from None
    return names(name, "")


def names(name: str, default: str) -> list[str]:
    return [part.strip() for part in os.environ.get(name, default).split(",") if part.strip()]


def secret(name: str) -> list[str]:
    """The secret's values, newest first, one a line, from the variable or from its file in the secrets directory."""
    if name in os.environ:
        return os.environ[name].split()
    path = (
        VAR_DIR / "secrets"
        if "QUARTERDECK_SECRETS_DIR" not in os.environ
        else Path(text("QUARTERDECK_SECRETS_DIR", ""))
    )
    try:
        values = (path / name.lower()).read_text().split()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name} is not set and {error.filename} cannot be read. `make run` makes it."
        ) from error
    if not values:
        raise ImproperlyConfigured(f"{path / name.lower()} is empty.")
    return values


def issuer(name: str) -> str:
    """An address as it stands in the provider's own document; HTTPS, or this machine. Empty for none."""
    url = text(name, "")
    parts = urlsplit(url)
    if url and parts.scheme != "https" and parts.hostname not in {"localhost", "127.0.0.1"}:
        raise ImproperlyConfigured(f"{name} must begin with https://")
    return url


def database(url: str) -> dict[str, object]:
    """postgresql://user:password@host:port/name, or ?host=/socket/directory for a unix socket."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured("DATABASE_URL must begin with postgresql://")
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", parts.hostname or ""),
        "PORT": str(query.pop("port", parts.port or "")),
        "OPTIONS": {"connect_timeout": 3, **query},
        # Under ASGI a connection kept is one for each thread that ever served, idle; a new one costs 2 ms here.
        "CONN_MAX_AGE": 0,
    }


def mail_server(url: str) -> dict[str, object]:
    """smtp://user:password@host:587 (STARTTLS where there is a user), smtps://…:465; nothing for no mail."""
    parts = urlsplit(url)
    if url and (parts.scheme not in {"smtp", "smtps"} or not parts.hostname):
        raise ImproperlyConfigured("QUARTERDECK_EMAIL_URL must look like smtp://user:password@host:587")
    is_tls = parts.scheme == "smtps"
    return {
        "host": parts.hostname or "",
        "port": parts.port or (465 if is_tls else 587 if parts.username else 25),
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "starttls": bool(parts.username) and not is_tls,
        "tls": is_tls,
    }


VAR_DIR = Path(text("QUARTERDECK_VAR_DIR", str(BASE_DIR / "var")))
SECRET_KEY, *SECRET_KEY_FALLBACKS = secret("SECRET_KEY")
SEALING_KEYS = secret("SEALING_KEYS")
DEBUG = flag("QUARTERDECK_DEBUG", default=False)
ALLOWED_HOSTS = names("QUARTERDECK_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = names("QUARTERDECK_ORIGINS", "")
SECURE_COOKIES = flag("QUARTERDECK_HTTPS", default=False)

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "console",
    "clusters",
    "storage",
    "slurm",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "console.middleware.know_factor",
    "console.middleware.note_session",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "console.middleware.content_security_policy",
    "console.middleware.no_nul",
    "console.middleware.audit_origin",
    "console.middleware.ErrorPages",
]
ROOT_URLCONF = "console.urls"
ASGI_APPLICATION = "console.asgi.application"
AUTH_USER_MODEL = "console.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.page.shell",
                "clusters.views.frame.rail",
            ],
            "builtins": ["console.templatetags.ui"],
        },
    }
]

DATABASE_URL = text("DATABASE_URL", "postgresql://quarterdeck@localhost/quarterdeck")
REDIS_URL = text("REDIS_URL", "redis://localhost:6379/0")
DATABASES = {"default": database(DATABASE_URL)}
CHANNEL_LAYERS = {
    "default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [REDIS_URL]}}
}
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        # Counters are read in the midst of a request, which must not wait for a frozen Redis.
        "OPTIONS": {
            "serializer": "console.counters.PlainValues",
            "socket_connect_timeout": 0.5,
            "socket_timeout": 0.5,
        },
    }
}
# A copy of the audit trail: a file's path, `syslog:/dev/log` or `syslog://host:514`; empty for none (console.sink).
AUDIT_SINK = text("QUARTERDECK_AUDIT_SINK", "")
CELERY_BROKER_URL = (
    REDIS_URL.replace("unix://", "redis+socket://") if REDIS_URL.startswith("unix") else REDIS_URL
)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A frozen Redis must not freeze a web request that enqueues.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 600,
    "socket_connect_timeout": 2,
    "socket_timeout": 5,
}
CELERY_BEAT_SCHEDULE = {
    "resume-changes": {"task": "clusters.tasks.resume_changes", "schedule": 5.0},
    "follow-people": {"task": "slurm.tasks.follow_people", "schedule": 5.0},
    "drop-recordings": {"task": "slurm.tasks.drop_recordings", "schedule": 3600.0},
    "forget-sessions": {"task": "console.tasks.forget_sessions", "schedule": 3600.0},
    "check-regions": {"task": "clusters.tasks.check_regions", "schedule": 180.0},
    "watch-volumes": {"task": "storage.tasks.watch_volumes", "schedule": 30.0},
}

PROVISIONERS = {
    "sandbox": "slurm.provisioners.sandbox.adapter.Sandbox",
    "slinky": "slurm.provisioners.slinky.adapter.Slinky",
}
PLATFORMS = {
    "sandbox": "slurm.provisioners.sandbox.platform.SandboxPlatform",
    "slinky": "slurm.provisioners.slinky.platform.SlinkyPlatform",
}
VOLUME_STORES = {
    "sandbox": "slurm.provisioners.sandbox.volumes.SandboxVolumes",
    "slinky": "slurm.provisioners.slinky.volumes.SlinkyVolumes",
}
MOUNTABLE = "storage.mounting.Volumes"
# How login nodes without an address are reached, by `LoginEndpoint.tunnel["kind"]`.
TUNNELS = {"kube": "slurm.provisioners.slinky.tunnel.open_tunnel"}
# Who counts the terminals that are open on a cluster's login node.
OPEN_TERMINALS = "slurm.terminal.count.open_terminals"
RECORDERS = ["clusters.watch.record", "slurm.watch.record"]
WATCH_TICK_S = seconds("QUARTERDECK_WATCH_TICK", 2.0)
# A terminal ends after so long without a key, and in any case after so long.
TERMINAL_IDLE_S = seconds("QUARTERDECK_TERMINAL_IDLE", 30 * 60)
TERMINAL_MOST_S = seconds("QUARTERDECK_TERMINAL_MOST", 12 * 3600)
# Recordings of terminals, for teams that want them. The terminal worker writes them, web and Celery worker read them:
# on several machines it is a volume that they share. One that reaches its size is cut; a full folder lets none begin.
TERMINAL_RECORDINGS_DIR = Path(text("QUARTERDECK_TERMINAL_RECORDINGS", str(VAR_DIR / "recordings")))
TERMINAL_RECORDING_MIB = count("QUARTERDECK_TERMINAL_RECORDING_MIB", 64)
TERMINAL_RECORDINGS_MIB = count("QUARTERDECK_TERMINAL_RECORDINGS_MIB", 10 * 1024)
# The numbers (uid, gid) of login users and groups run from here to 59999; each is given out once.
LOGIN_NUMBERS_FROM = count("QUARTERDECK_LOGIN_NUMBERS_FROM", 20_000)
SHADOW_CHECK = flag("QUARTERDECK_SHADOW_CHECK", default=True)

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
# Invitations are mailed where this is set; else their links are shown to be handed on.
_MAIL = mail_server(text("QUARTERDECK_EMAIL_URL", ""))
EMAIL_HOST, EMAIL_PORT = _MAIL["host"], _MAIL["port"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _MAIL["user"], _MAIL["password"]
EMAIL_USE_TLS, EMAIL_USE_SSL = _MAIL["starttls"], _MAIL["tls"]
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = text("QUARTERDECK_EMAIL_FROM", "quarterdeck@localhost")
# Who may say, in X-Forwarded-For and X-Forwarded-Proto, where a request really came from: the reverse proxies' own
# addresses, nobody else's. Without any, the headers are ignored, and behind a proxy everybody has its address.
TRUSTED_PROXIES = networks("QUARTERDECK_TRUSTED_PROXIES")
API_REQUESTS_A_MINUTE = count("QUARTERDECK_API_REQUESTS_A_MINUTE", 1200)
# The largest file that the browser may send to a login node; rsync and scp have no such limit.
UPLOAD_MOST_MIB = count("QUARTERDECK_UPLOAD_MOST_MIB", 2048)
AUTHENTICATION_BACKENDS = ["console.passwords.PasswordBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# django-allauth keeps second factors and speaks OpenID Connect; its pages, forms and limits are not used.
ACCOUNT_ADAPTER = "console.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
MFA_ADAPTER = "console.adapters.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
# Codes of half a minute before and after: phones' clocks differ.
MFA_TOTP_TOLERANCE = 1
# Signing in through an identity provider (OpenID Connect): off without an issuer. docs/settings.md says it all.
OIDC_ISSUER = issuer("QUARTERDECK_OIDC_ISSUER")
OIDC_NAME = text("QUARTERDECK_OIDC_NAME", "your organisation")
OIDC_CLIENT_ID = text("QUARTERDECK_OIDC_CLIENT_ID", "quarterdeck")
OIDC_CLIENT_SECRET = secret("OIDC_CLIENT_SECRET")[0] if OIDC_ISSUER else ""
OIDC_SCOPES = names("QUARTERDECK_OIDC_SCOPES", "openid,profile,email")
OIDC_USERNAME_CLAIM = text("QUARTERDECK_OIDC_USERNAME_CLAIM", "preferred_username")
OIDC_GROUPS_CLAIM = text("QUARTERDECK_OIDC_GROUPS_CLAIM", "groups")
# What the provider is asked to make sure of, and what of its answer counts as a second factor here: nothing by itself.
OIDC_ACR_VALUES = names("QUARTERDECK_OIDC_ACR_VALUES", "")
OIDC_FACTOR_ACR = names("QUARTERDECK_OIDC_FACTOR_ACR", "")
OIDC_FACTOR_AMR = names("QUARTERDECK_OIDC_FACTOR_AMR", "")
# Whether signing out here leads on to the provider's own sign-out, where it has one.
OIDC_SIGN_OUT = flag("QUARTERDECK_OIDC_SIGN_OUT", default=True)
# Groups are asked for at each sign-in: whoever lost one is in for as long at most.
OIDC_SESSION_S = int(seconds("QUARTERDECK_OIDC_SESSION_HOURS", 12) * 3600)
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
SESSION_ENGINE = "console.session_store"
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_COOKIES
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
# With QUARTERDECK_HTTPS browsers are told to come by https alone, for a year: Django sends it only over https, which
# behind a proxy it learns from X-Forwarded-Proto of QUARTERDECK_TRUSTED_PROXIES. Redirecting to https is the proxy's
# work: probes ask the console itself in plain text.
SECURE_HSTS_SECONDS = 365 * 86_400 if SECURE_COOKIES else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = flag("QUARTERDECK_HSTS_SUBDOMAINS", default=False)
# W008: see above. W005 and W021 are about other hosts of the domain, which are not ours to decide. Spectacular's is
# about names in the API's schema, and `manage.py spectacular` says it where it is of use.
SILENCED_SYSTEM_CHECKS = ["security.W008", "security.W005", "security.W021", "drf_spectacular.W001"]

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Served straight from the source folders: no collect step between `git pull` and a running console.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "console.tokens.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": ["console.throttle.PersonThrottle"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": [
        "rest_framework.renderers.JSONRenderer",
        "rest_framework.renderers.BrowsableAPIRenderer",
    ],
    "DEFAULT_PARSER_CLASSES": ["console.parsers.JsonBodyParser"],
    "EXCEPTION_HANDLER": "console.problems.problem_response",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Quarterdeck",
    "DESCRIPTION": "Slurm clusters: create, watch, change and use them.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    # Words that more than one part of the API has, each with values of its own.
    "ENUM_NAME_OVERRIDES": {
        "PartitionState": "clusters.validate.STATES",
        "ChangeStatus": "clusters.models.CHANGE_STATUSES",
        "Fate": "clusters.api.previews.FATES",
        "VolumeKind": "storage.api.serializers.KINDS",
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "console.redaction.Redacted",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": text("QUARTERDECK_LOG_LEVEL", "INFO")},
}
