"""A real node for a real control plane: containerd and a kubelet on this machine, all in one directory.

    with ControlPlane(directory / "cluster", controllers=(*CONTROLLERS, *NODE_CONTROLLERS)) as cluster:
        with RealNode(cluster, directory / "node") as node:
            ... node.name, node.root (the kubelet's directory), and pods of the image `box.IMAGE` ...

Pods run as everywhere. Their network reaches this machine, at `node.address`, and nothing beyond it; of the cluster's
services they reach the API server.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from images.servers.gate import Gate
from ingot.api.object import Object
from kube import box
from kube.cluster import ControlPlane
from kube.credentials import SERVICE_ADDRESS
from kube.process import Process
from kube.traces import Traces, pod_processes

# What pods with volumes need of the controller manager beside cluster.CONTROLLERS.
NODE_CONTROLLERS = (
    "node-lifecycle-controller",
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
)
PLUGINS = Path("/usr/lib/cni")
START_TIMEOUT = 60.0
# The range for benchmarks, which no network uses: the cluster's services are in its first quarter, pods in the second,
# nodes in the rest.
_RANGE = "198.18.0.0/15"
# Every kubelet listens there, wherever its root is.
_KUBELET_SOCKET = "/var/lib/kubelet/device-plugins/kubelet.sock"
_PACKAGES = {"containerd": "containerd", "ctr": "containerd", "runc": "runc", "losetup": "mount", "ip": "iproute2"}


def why_not() -> str:
    """One line for a person: why there can be no node on this machine; "" when there can be one."""
    if os.geteuid() != 0:
        return "a node needs root"
    missing = {package for program, package in _PACKAGES.items() if not shutil.which(program)}
    if not box.BUSYBOX.exists():
        missing.add("busybox-static")
    if not (PLUGINS / "ptp").exists():
        missing.add("containernetworking-plugins")
    if missing:
        return f"no node: apt-get install {' '.join(sorted(missing))}"
    # A kubelet ends the pods of another one, and so does leaving.
    if found := pod_processes():
        return f"a node needs a machine without pods, and here are processes in the group kubepods: {found}"
    return "a node needs a machine without a kubelet, and one runs here" if _is_kubelet_here() else ""


def _is_kubelet_here() -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(_KUBELET_SOCKET) == 0


class RealNode:
    """Starts on entering, and is Ready then; on leaving it ends every pod and takes back what it did to the machine.

    Leaving raises Leaked when something of the node stays.
    """

    def __init__(self, cluster: ControlPlane, directory: Path, name: str = "node") -> None:
        self.name = name
        self.root = directory / "kubelet"
        self.directory = directory
        self.plugins = directory / "volume-plugins"
        self.plugins.mkdir(parents=True)
        self.processes: dict[str, Process] = {}
        self.cluster = cluster
        self._socket = directory / "containerd.sock"
        # Of the range for benchmarks, which no network uses; a kubelet refuses 127.0.0.0/8.
        self.address = f"198.19.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"
        self._stack = ExitStack()

    def __enter__(self) -> RealNode:
        with ExitStack() as stack:
            stack.enter_context(Traces(self.directory, self._socket))
            for address in (self.address, SERVICE_ADDRESS):
                stack.callback(_run, "ip", "address", "delete", f"{address}/32", "dev", "lo")
                _run("ip", "address", "replace", f"{address}/32", "dev", "lo")
            # What is for a pod that is gone must not leave this machine.
            stack.callback(_run, "ip", "route", "delete", "unreachable", _RANGE)
            _run("ip", "route", "replace", "unreachable", _RANGE)
            stack.enter_context(Gate(self.cluster.port, SERVICE_ADDRESS, 443))
            self._start_containerd(stack)
            self._start_kubelet(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def check(self) -> None:
        """Raises ProcessEnded if one of the node's servers no longer runs."""
        for process in self.processes.values():
            process.check()

    def kubectl(self, *arguments: str, stdin: Object | None = None) -> str:
        """What kubectl prints, as the administrator; `stdin` is an object for `-f -`."""
        command = [str(self.cluster.kubectl), f"--kubeconfig={self.cluster.kubeconfig}", *arguments]
        return _run(*command, given=json.dumps(stdin) if stdin else "")

    def load(self, write: Callable[[Path], None]) -> None:
        """Gives the node an image: `write` makes the archive of it."""
        archive = self.directory / "image.tar"
        write(archive)
        self._ctr("images", "import", str(archive))
        archive.unlink()

    def log(self, pod: Object) -> str:
        """What the first container of a pod has written so far."""
        meta, container = pod["metadata"], pod["spec"]["containers"][0]["name"]
        pod_logs = self.directory / "logs" / f"{meta['namespace']}_{meta['name']}_{meta['uid']}"
        try:
            lines = (pod_logs / container / "0.log").read_text().splitlines()
        except FileNotFoundError:
            return ""
        # Each begins with the time, the stream, and whether the line goes on.
        return "\n".join(line.split(" ", 3)[3] for line in lines)

    def _start_containerd(self, stack: ExitStack) -> None:
        configuration = self.directory / "containerd.toml"
        configuration.write_text(_CONTAINERD.format(directory=self.directory, image=box.IMAGE, plugins=PLUGINS))
        network = self.directory / "networks" / "pods.conflist"
        network.parent.mkdir()
        network.write_text(json.dumps(_network(self.directory / "addresses", _free_subnet())))
        command = ["containerd", f"--config={configuration}", f"--address={self._socket}"]
        self._start(stack, "containerd", command, self._contained)
        self.load(box.write)

    def _start_kubelet(self, stack: ExitStack) -> None:
        configuration = self.directory / "kubelet.json"
        configuration.write_text(json.dumps(self._kubelet_configuration()))
        options = {
            "config": configuration,
            "kubeconfig": self.cluster.kubeconfig,
            "root-dir": self.root,
            "cert-dir": self.root / "pki",
            "hostname-override": self.name,
            "node-ip": self.address,
        }
        command = [str(self.cluster.programs / "kubelet"), *(f"--{key}={value}" for key, value in options.items())]
        self._start(stack, "kubelet", command, self._ready)

    def _kubelet_configuration(self) -> dict[str, object]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": f"unix://{self._socket}",
            "cgroupDriver": "cgroupfs",
            "podLogsDir": str(self.directory / "logs"),
            "volumePluginDir": str(self.plugins),
            "enableServer": False,
            "healthzPort": 0,
            "failSwapOn": False,
            "makeIPTablesUtilChains": False,
            "enforceNodeAllocatable": ["none"],
            # A machine that is nearly full may still run tests.
            "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
            "imageGCHighThresholdPercent": 100,
            "registryPullQPS": 0,
            "kubeAPIQPS": 1000,
            "kubeAPIBurst": 2000,
        }

    def _contained(self) -> bool:
        if not self._socket.exists():
            return False
        return subprocess.run(self._ctr_command("version"), capture_output=True, timeout=30).returncode == 0

    def _ready(self) -> bool:
        query = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"
        return self.kubectl("get", "nodes", f"--field-selector=metadata.name={self.name}", "-o", query) == "True"

    def _start(self, stack: ExitStack, name: str, command: list[str], ready: Callable[[], bool]) -> None:
        process = stack.enter_context(Process(name, command, self.directory / f"{name}.log"))
        self.processes[name] = process
        deadline = time.monotonic() + START_TIMEOUT
        while not ready():
            process.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name} was not ready in {START_TIMEOUT:.0f} s\n{process.tail()}")
            time.sleep(0.1)

    def _ctr_command(self, *arguments: str) -> list[str]:
        return ["ctr", f"--address={self._socket}", "--namespace=k8s.io", *arguments]

    def _ctr(self, *arguments: str) -> str:
        return _run(*self._ctr_command(*arguments))


def _run(*command: str, given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=150)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with code {done.returncode}: {done.stderr}")
    return done.stdout


def _free_subnet() -> str:
    """One that no pod has: the cables of a node before this one go some time after it, and their routes with them."""
    taken = _run("ip", "route", "show")
    free = [each for each in (f"198.18.{number}." for number in range(128, 256)) if each not in taken]
    return f"{secrets.choice(free)}0/24"


def _network(addresses: Path, subnet: str) -> dict[str, object]:
    """A cable from each pod to this machine: unlike a bridge it goes with the pod."""
    routes = [{"dst": _RANGE}]
    pool = {"type": "host-local", "ranges": [[{"subnet": subnet}]], "routes": routes, "dataDir": str(addresses)}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "ipam": pool}]}


_CONTAINERD = """version = 2
root = "{directory}/containerd"
state = "{directory}/containerd-state"
disabled_plugins = [
    "io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing", "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper",
]
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{image}"
stream_server_port = "0"
netns_mounts_under_state_dir = true
# Without CAP_SYS_RESOURCE nobody may make a process less likely to be killed.
restrict_oom_score_adj = true
# The user of an unprivileged pod may open its block volumes.
device_ownership_from_security_context = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{plugins}"
conf_dir = "{directory}/networks"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
Root = "{directory}/runc"
SystemdCgroup = false
"""
