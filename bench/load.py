"""Creates per second, by wrk: a client that costs little of the two cores it shares with the server."""

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from bench.servers import Server

# Every request creates one ConfigMap of about 300 bytes with a name of its own.
SCRIPT = """
local prefix = "{prefix}"
local number = 0
local headers = {{ ["Content-Type"] = "application/json", ["Authorization"] = "Bearer {token}" }}
request = function()
  number = number + 1
  local body = '{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"' .. prefix .. number ..
    '","labels":{{"app":"bench"}}}},"data":{{"key":"{value}"}}}}'
  return wrk.format("POST", "/api/v1/namespaces/{namespace}/configmaps", headers, body)
end
"""
VALUE = "v" * 200


@dataclass(frozen=True, slots=True)
class Load:
    """What one round of load has given."""

    per_second: float
    cpu_ms_each: float


def create(server: Server, directory: Path, namespace: str, clients: int, seconds: int, mark: str) -> Load:
    """Runs `clients` connections for some seconds; raises if anything but a success was answered."""
    script = directory / "create.lua"
    prefix = f"{mark}-{clients}-"
    script.write_text(SCRIPT.format(prefix=prefix, token=server.token, value=VALUE, namespace=namespace))
    script.chmod(0o600)
    address = f"https://127.0.0.1:{server.port}"
    before, begin = server.cpu(), time.perf_counter()
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "-s", str(script), address]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    used, elapsed = server.cpu() - before, time.perf_counter() - begin
    script.unlink()
    if "Non-2xx" in output or "Socket errors" in output:
        raise RuntimeError(f"{server.name}: {output}")
    count = int(re.search(r"(\d+) requests in", output)[1])  # type: ignore[index]  # wrk always says so
    return Load(count / elapsed, used / count * 1000)
