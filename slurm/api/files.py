"""Files of the login node, by the login user's rights there; the same as in the terminal.

Names are any bytes: `path` in an address is percent-encoded bytes, and what an answer calls `path` is written so too,
to be put into an address as it is; `name` is for people to read.
"""

import re
from collections.abc import Mapping
from typing import IO, Any

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import ClusterView, checked, whole_number
from console.errors import Missing
from console.roles import Action
from slurm.files.acts import CHUNK, Download, LoginFiles, Upload
from slurm.files.entries import Entry
from slurm.files.errors import TooLarge
from slurm.files.paths import query_path

PATH = OpenApiParameter(
    "path", str, required=True, description="Absolute and percent-encoded, as in `/home/mo/a%20b`."
)
TO = OpenApiParameter("to", str, required=True, description="The new path.")
RECURSIVE = OpenApiParameter("recursive", bool, description="A folder with what is in it.")
OFFSET = OpenApiParameter("offset", int, required=True, description="How many bytes came before this chunk.")
RANGE = OpenApiParameter(
    "Range", str, OpenApiParameter.HEADER, description="One range of bytes (RFC 9110, 14)."
)
UPLOAD = re.compile(r"[0-9a-f]{32}")
LARGEST = 2**53


class EntrySerializer(serializers.Serializer[Any]):
    """`kind` is file, folder, link or other; `leads_to` is the kind of what a link leads to."""

    name = serializers.CharField()
    path = serializers.CharField(source="address")
    kind = serializers.CharField()
    leads_to = serializers.CharField(allow_blank=True)
    size = serializers.IntegerField()
    rights = serializers.CharField()
    modified = serializers.DateTimeField(source="modified_at")


class FolderSerializer(serializers.Serializer[Any]):
    """`is_cut` when there is more in the folder than is listed."""

    path = serializers.CharField()
    entries = EntrySerializer(many=True)
    is_cut = serializers.BooleanField()


class TextSerializer(serializers.Serializer[Any]):
    """The beginning of a text file; control characters are replaced."""

    text = serializers.CharField(allow_blank=True)
    is_cut = serializers.BooleanField()


class BeginSerializer(serializers.Serializer[Any]):
    size = serializers.IntegerField(min_value=0, max_value=LARGEST)
    mark = serializers.CharField(
        max_length=200, allow_blank=True, default="",
        help_text="Tells your file from another of its name and size: the same mark finds an upload that was cut.",
    )  # fmt: skip
    replace = serializers.BooleanField(default=False)


class UploadSerializer(serializers.Serializer[Any]):
    """Go on at `offset`, with at most `chunk` bytes a request."""

    upload = serializers.CharField(source="id")
    offset = serializers.IntegerField()
    chunk = serializers.IntegerField()


class OffsetSerializer(serializers.Serializer[Any]):
    offset = serializers.IntegerField()


class FinishSerializer(serializers.Serializer[Any]):
    size = serializers.IntegerField(min_value=0, max_value=LARGEST)
    sha256 = serializers.RegexField(r"^[0-9a-fA-F]{64}$")
    replace = serializers.BooleanField(default=False)


class RemovedSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField()


class BytesParser(BaseParser):
    """A chunk as it is. Raises TooLarge."""

    media_type = "application/octet-stream"

    def parse(  # type: ignore[override]  # a parser may return anything (DRF, Parsers); its types say less
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> bytes:
        data: bytes = stream.read(CHUNK + 1)
        if len(data) > CHUNK:
            raise TooLarge(f"A chunk may hold {CHUNK} bytes.", "Send the file in more of them.")
        return data


class ErrorAsBytes(JSONRenderer):
    """For those who accept nothing but the file itself; an error is a problem document all the same."""

    media_type = "application/octet-stream"
    format = "bytes"


class Files(ClusterView):
    """A folder's entries; deleting one of them."""

    actions = {"GET": Action.TERMINAL, "DELETE": Action.TERMINAL}

    @extend_schema(
        parameters=[OpenApiParameter("path", str, description="Left out, it is the home.")],
        responses=FolderSerializer,
    )
    def get(self, request: Request, team: str, cluster: str) -> Response:
        folder = LoginFiles(self.door).folder(path_of(request, otherwise=b""))
        here = Entry(folder.path, "folder", 0, 0, 0)
        data = {"path": here.address, "entries": folder.entries, "is_cut": folder.is_cut}
        return Response(FolderSerializer(data).data)

    @extend_schema(parameters=[PATH, RECURSIVE], responses=RemovedSerializer)
    def delete(self, request: Request, team: str, cluster: str) -> Response:
        recursive = request.query_params.get("recursive", "").lower() in ("1", "true")
        return Response({"count": LoginFiles(self.door).remove(path_of(request), recursive=recursive)})


class FileEntry(ClusterView):
    """One file or folder."""

    actions = {"GET": Action.TERMINAL}

    @extend_schema(parameters=[PATH], responses=EntrySerializer)
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return Response(EntrySerializer(LoginFiles(self.door).entry(path_of(request))).data)


class FileText(ClusterView):
    """A file as text, from its beginning."""

    actions = {"GET": Action.TERMINAL}

    @extend_schema(parameters=[PATH], responses=TextSerializer)
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return Response(TextSerializer(LoginFiles(self.door).text(path_of(request))).data)


class FileContent(ClusterView):
    """A file's bytes. A download that was cut goes on with `Range` and, lest the file changed, `If-Range`."""

    actions = {"GET": Action.TERMINAL}
    renderer_classes = [JSONRenderer, ErrorAsBytes]

    @extend_schema(parameters=[PATH, RANGE], responses={(200, "application/octet-stream"): bytes})
    def get(self, request: Request, team: str, cluster: str) -> HttpResponse | StreamingHttpResponse:
        return download(request, LoginFiles(self.door), path_of(request))


class FileUploads(ClusterView):
    """Begin to send a file, or find out where one that was cut goes on."""

    actions = {"POST": Action.TERMINAL}

    @extend_schema(parameters=[PATH], request=BeginSerializer, responses={201: UploadSerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        said = checked(BeginSerializer(data=request.data))
        begun = LoginFiles(self.door).begin(
            path_of(request), said["size"], said["mark"], replace=said["replace"]
        )
        return Response({"upload": begun.id, "offset": begun.offset, "chunk": CHUNK}, status=201)


class FileUpload(ClusterView):
    """A chunk of an upload, in order; or giving it up."""

    actions = {"PUT": Action.TERMINAL, "DELETE": Action.TERMINAL}
    parser_classes = [BytesParser]

    @extend_schema(
        parameters=[PATH, OFFSET],
        request={"application/octet-stream": bytes},
        responses=OffsetSerializer,
    )
    def put(self, request: Request, team: str, cluster: str, upload: str) -> Response:
        offset = whole_number(request, "offset", default=0, most=LARGEST)
        data = request.data if isinstance(request.data, bytes) else b""
        after = LoginFiles(self.door).write(named(upload, path_of(request), offset), data)
        return Response({"offset": after})

    @extend_schema(parameters=[PATH], responses={204: None})
    def delete(self, request: Request, team: str, cluster: str, upload: str) -> Response:
        LoginFiles(self.door).abandon(named(upload, path_of(request), 0))
        return Response(status=204)


class FileUploadFinish(ClusterView):
    """Everything was sent: compare the SHA-256 and put the file in its place."""

    actions = {"POST": Action.TERMINAL}

    @extend_schema(parameters=[PATH], request=FinishSerializer, responses=EntrySerializer)
    def post(self, request: Request, team: str, cluster: str, upload: str) -> Response:
        said = checked(FinishSerializer(data=request.data))
        whole = named(upload, path_of(request), said["size"])
        entry = LoginFiles(self.door).finish(whole, said["sha256"], replace=said["replace"])
        return Response(EntrySerializer(entry).data)


class FileRename(ClusterView):
    """Rename or move a file or folder. Nothing is replaced."""

    actions = {"POST": Action.TERMINAL}

    @extend_schema(parameters=[PATH, TO], request=None, responses=EntrySerializer)
    def post(self, request: Request, team: str, cluster: str) -> Response:
        entry = LoginFiles(self.door).rename(path_of(request), path_of(request, "to"))
        return Response(EntrySerializer(entry).data)


class FileFolders(ClusterView):
    """Make a folder."""

    actions = {"POST": Action.TERMINAL}

    @extend_schema(parameters=[PATH], request=None, responses={201: EntrySerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        entry = LoginFiles(self.door).make_folder(path_of(request))
        return Response(EntrySerializer(entry).data, status=201)


def path_of(request: Request, name: str = "path", *, otherwise: bytes | None = None) -> bytes:
    return query_path(str(request.META.get("QUERY_STRING", "")), name, otherwise=otherwise)


def named(upload: str, path: bytes, offset: int) -> Upload:
    """Raises Missing for what cannot be an upload's name: it becomes a part of a file's."""
    if not UPLOAD.fullmatch(upload):
        raise Missing("There is no such upload.", "Begin it again.")
    return Upload(upload, path, offset)


def download(request: Request, files: LoginFiles, path: bytes) -> HttpResponse | StreamingHttpResponse:
    """200, 206 of one range, or 416. Never a type that a browser would open."""
    wanted = _range(request.headers.get("Range", ""))
    entry = files.entry(path) if wanted else None
    if entry and request.headers.get("If-Range", entry.tag) != entry.tag:
        wanted = None
    if entry and wanted:
        start, end = _resolved(wanted, entry.size)
        if start >= entry.size:
            return HttpResponse(status=416, headers={"Content-Range": f"bytes */{entry.size}"})
        sent = files.download(path, start, end - start)
    else:
        sent = files.download(path)
    response = StreamingHttpResponse(
        sent.body, status=206 if entry and wanted else 200, content_type="application/octet-stream"
    )
    for name, value in _headers(sent, is_range=response.status_code == 206).items():
        response.headers[name] = value
    return response


def _headers(sent: Download, *, is_range: bool) -> dict[str, str]:
    entry = sent.entry
    headers = {
        "Content-Disposition": content_disposition_header(True, entry.name) or "attachment",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cache-Control": "private, no-store",
        "Accept-Ranges": "bytes",
        "ETag": entry.tag,
    }
    if sent.length is not None:
        headers["Content-Length"] = str(sent.length)
    if is_range and sent.length is not None:
        last = sent.offset + sent.length - 1
        headers["Content-Range"] = f"bytes {sent.offset}-{last}/{entry.size}"
    return headers


def _range(header: str) -> tuple[int | None, int | None] | None:
    """First and last byte as they stand in the header; None when it asks for nothing we give (several ranges)."""
    found = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", header.strip())
    if not found or not (found[1] or found[2]):
        return None
    first, last = (int(text) if text else None for text in found.groups())
    return None if first is not None and last is not None and last < first else (first, last)


def _resolved(wanted: tuple[int | None, int | None], size: int) -> tuple[int, int]:
    """Start, and end without it. `-n` are the last n bytes."""
    first, last = wanted
    if first is None:
        return max(0, size - (last or 0)) if last else size, size
    return first, size if last is None else min(size, last + 1)
