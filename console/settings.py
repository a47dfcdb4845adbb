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
    "console",
    "clusters",
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
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
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
        "OPTIONS": {"socket_connect_timeout": 0.5, "socket_timeout": 0.5},
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
    "check-regions": {"task": "clusters.tasks.check_regions", "schedule": 180.0},
}

PROVISIONERS = {
    "sandbox": "slurm.provisioners.sandbox.adapter.Sandbox",
    "slinky": "slurm.provisioners.slinky.adapter.Slinky",
}
PLATFORMS = {
    "sandbox": "slurm.provisioners.sandbox.platform.SandboxPlatform",
    "slinky": "slurm.provisioners.slinky.platform.SlinkyPlatform",
}
# How login nodes without an address are reached, by `LoginEndpoint.tunnel["kind"]`.
TUNNELS = {"kube": "slurm.provisioners.slinky.tunnel.open_tunnel"}
RECORDERS = ["clusters.watch.record", "slurm.watch.record"]
WATCH_TICK_S = seconds("QUARTERDECK_WATCH_TICK", 2.0)
SHADOW_CHECK = flag("QUARTERDECK_SHADOW_CHECK", default=True)

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
# Who may say, in X-Forwarded-For and X-Forwarded-Proto, where a request really came from: the reverse proxies' own
# addresses, nobody else's. Without any, the headers are ignored, and behind a proxy everybody has its address.
TRUSTED_PROXIES = networks("QUARTERDECK_TRUSTED_PROXIES")
API_REQUESTS_A_MINUTE = count("QUARTERDECK_API_REQUESTS_A_MINUTE", 1200)
AUTHENTICATION_BACKENDS = ["console.passwords.PasswordBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_COOKIES
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

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
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": text("QUARTERDECK_LOG_LEVEL", "INFO")},
}
