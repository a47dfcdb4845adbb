"""Certificates over people's own SSH keys, for plain ssh, scp, rsync and editors that use them."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import ClusterView, checked
from console.roles import Action
from slurm.connecting import MINUTES, MOST_MINUTES, Pass, known_host, sign_key

KEY = OpenApiParameter(
    "public_key", str, required=True, description="The line of the file that ends in .pub."
)
LIFE = OpenApiParameter("minutes", int, description=f"1 to {MOST_MINUTES}; {MINUTES} when left out.")


class KeySerializer(serializers.Serializer[Any]):
    public_key = serializers.CharField(max_length=8192)
    minutes = serializers.IntegerField(min_value=1, max_value=MOST_MINUTES, default=MINUTES)


class CertificateSerializer(serializers.Serializer[Any]):
    """`certificate` is the content of a CertificateFile, `known_host` a line for known_hosts."""

    certificate = serializers.CharField()
    valid_until = serializers.DateTimeField()
    serial = serializers.CharField()
    host = serializers.CharField()
    port = serializers.IntegerField()
    user = serializers.CharField()
    known_host = serializers.CharField()


class CertificateAsText(BaseRenderer):
    """The certificate alone, for `curl -o`; an error as its sentence."""

    media_type = "text/plain"
    format = "text"

    def render(
        self, data: Any, accepted_media_type: str | None = None, context: Mapping[str, Any] | None = None
    ) -> bytes:
        return f"{data.get('certificate') or data.get('detail') or data}\n".encode()


class SshCertificate(ClusterView):
    """Sign your public key for minutes, for the login user of the cluster.

    It is asked for when a connection is made: one that is open stays open when the certificate runs out, and when you
    lose your role. Without the role no further one is given.
    """

    actions = {"GET": Action.TERMINAL, "POST": Action.TERMINAL}
    renderer_classes = [JSONRenderer, CertificateAsText]

    @extend_schema(parameters=[KEY, LIFE], responses=CertificateSerializer)
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return self._signed(KeySerializer(data=request.query_params))

    @extend_schema(
        request=KeySerializer,
        responses=CertificateSerializer,
        examples=[
            OpenApiExample("A key", value={"public_key": "ssh-ed25519 AAAA... you@laptop"}, request_only=True)
        ],
    )
    def post(self, request: Request, team: str, cluster: str) -> Response:
        return self._signed(KeySerializer(data=request.data))

    def _signed(self, asked: KeySerializer) -> Response:
        said = checked(asked)
        made = sign_key(self.door, said["public_key"], said["minutes"])
        return Response(CertificateSerializer(self._said(made)).data, headers={"Cache-Control": "no-store"})

    def _said(self, made: Pass) -> dict[str, object]:
        return {
            "certificate": made.signed.certificate,
            "valid_until": made.valid_until,
            "serial": str(made.signed.serial),
            "host": made.endpoint.host,
            "port": made.endpoint.port,
            "user": made.endpoint.user,
            "known_host": known_host(self.door, made.endpoint),
        }
