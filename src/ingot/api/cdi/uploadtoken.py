"""UploadTokenRequest: asked for by whoever may upload to a claim, answered with the token. It is never stored (B8)."""

from typing import Annotated

from ingot.api.machinery import UNSET, Field, Opt, Shape
from ingot.api.machinery.meta import ObjectMeta
from ingot.api.object import Object
from ingot.api.resources import UPLOAD_TOKEN_REQUESTS


class UploadTokenSpec(Shape):
    """What is going to be uploaded to."""

    pvc_name: Annotated[str, Field("The claim, in the same namespace.", min_length=1)]


class UploadTokenStatus(Shape):
    """The answer."""

    token: Annotated[Opt[str], Field("Sent with the upload, as `Authorization: Bearer`.")] = UNSET


class UploadTokenRequest(Shape, kw_only=True):
    """A request for the token that lets one upload go to one claim."""

    api_version: str = UPLOAD_TOKEN_REQUESTS.api_version
    kind: str = UPLOAD_TOKEN_REQUESTS.kind
    metadata: ObjectMeta
    spec: UploadTokenSpec
    status: Opt[UploadTokenStatus] = UNSET

    def to_object(self) -> Object:
        """The dictionary for the wire."""
        said = {"apiVersion": UPLOAD_TOKEN_REQUESTS.api_version, "kind": UPLOAD_TOKEN_REQUESTS.kind}
        return {**said, **super().to_object()}
