"""HTTP to an OpenAI-compatible endpoint: one request, and its reply or why there is none."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import httpx2

from loom import model_errors as codes
from loom.model_errors import Failed, ModelError, Waiting
from loom.model_reply import Reply
from loom.settings import is_loopback

CONNECT_SECONDS: Final = 5.0
MOST_ERROR_BYTES: Final = 64 * 1024

# Below the time after which servers close an idle connection (uvicorn: 5 seconds), so that a
# request is not sent into one that is closing.
_KEEP_SECONDS: Final = 3.0


class Endpoint:
    """An endpoint. ``base_url`` is what the paths are added to. A read may take
    ``timeout_seconds``, and a reply has many reads: a deadline over the whole is the caller's."""

    def __init__(self, base_url: str, api_key: str | None, timeout_seconds: float) -> None:
        url = httpx2.URL(base_url)
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError("base_url must be a URL that begins with http:// or https://")
        if api_key and not (api_key.isascii() and api_key.isprintable()):
            raise ValueError("api_key holds characters that no header can carry")
        # An answer that is not compressed is as large as it says.
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self.host = url.host
        self._http = httpx2.AsyncClient(
            base_url=url,
            headers=headers,
            timeout=httpx2.Timeout(timeout_seconds, connect=CONNECT_SECONDS),
            limits=httpx2.Limits(keepalive_expiry=_KEEP_SECONDS),
            follow_redirects=False,
            trust_env=not is_loopback(url.host),  # as in the SDK: proxies are for the outside
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def post(self, path: str, body: bytes, most_bytes: int) -> Reply | ModelError:
        """Send a request; a reply that is larger than ``most_bytes`` is none."""
        status = None
        try:
            async with self._http.stream("POST", path, content=body) as response:
                status = response.status_code
                if status != 200:
                    return await _error(response)
                content = await _whole(response, most_bytes)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError):
            return Waiting(codes.MODEL_UNREACHABLE)
        except httpx2.TimeoutException:
            return Failed(codes.MODEL_TIMEOUT)
        except (httpx2.NetworkError, httpx2.RemoteProtocolError):
            # An answer that broke off had been made, and would be paid for again at once.
            return (
                Waiting(codes.MODEL_UNREACHABLE) if status is None else Failed(codes.MODEL_DROPPED)
            )
        except httpx2.HTTPError:
            return Failed(codes.MODEL_BAD_RESPONSE)
        if content is None:
            return Failed(codes.MODEL_BAD_RESPONSE)
        return Reply(200, response.headers, content)


class EndpointClient:
    """A model at an endpoint, which a request may take ``timeout_seconds`` of.

    Use it as an async context manager, or call ``close``.
    """

    def __init__(
        self, base_url: str, api_key: str | None, model: str, timeout_seconds: float
    ) -> None:
        self.model = model
        self.timeout_seconds = timeout_seconds
        self._endpoint = Endpoint(base_url, api_key, timeout_seconds)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r} at {self._endpoint.host})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()


async def _whole(response: httpx2.Response, most_bytes: int) -> bytes | None:
    """The body; None when it is too large, or compressed although that was not asked for."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        return None
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > most_bytes:
            return None
    return bytes(content)


async def _error(response: httpx2.Response) -> Reply:
    """A refusal with the beginning of its body, or as much of that as arrived."""
    content = bytearray()
    with suppress(httpx2.HTTPError):
        async for chunk in response.aiter_raw():
            content += chunk
            if len(content) > MOST_ERROR_BYTES:
                break
    return Reply(response.status_code, response.headers, bytes(content[:MOST_ERROR_BYTES]))
