"""How one signs in to the API, as its schema says it. Read by drf-spectacular, which finds extensions by import."""

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class BearerScheme(OpenApiAuthenticationExtension):
    target_class = "console.tokens.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        about = "An API token of your profile page: `Authorization: Bearer qdk_...`"
        return {"type": "http", "scheme": "bearer", "description": about}
