"""The life of one pod on its node: what it runs, in which order, until when."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

from e2e.plane.agent import environment, states
from e2e.plane.agent.containers import Container
from e2e.plane.agent.environment import ConfigError
from e2e.plane.agent.reporter import Link, Reporter
from e2e.plane.agent.specs import Pod
from e2e.plane.agent.states import Terminated, Waiting
from e2e.plane.agent.status import Account
from e2e.plane.api import Api, ApiError
from e2e.plane.processes import CONTAINER_MARK

RETRY_SECONDS = 1.0  # a kubelet's tenth, so that tests need not wait


class Workload:
    """One pod's containers; `run` is its whole life, all else disturbs it."""

    def __init__(self, pod: Pod, address: str, api: Api, root: Path, link: Link) -> None:
        uid, spec = pod.metadata.uid, pod.spec
        self._api = api
        self._root = root
        self._folder = root / "pods" / f"{pod.metadata.namespace}_{pod.metadata.name}"
        initial = [Container(c, uid) for c in spec.init_containers]
        main = [Container(c, uid) for c in spec.containers]
        started = pod.status.start_time or states.now()
        self.account = Account(pod, address, initial, main, started)
        self.reporter = Reporter(api, self.account, link, on_gone=self.kill)
        self._is_stopping = asyncio.Event()
        self._is_closing = False
        self._timers: list[asyncio.TimerHandle] = []

    async def run(self) -> None:
        """Run everything and report it, until all has ended and the last word is said."""
        self._set_deadline()
        try:
            if not self._was_lost():
                await self._run_in_order()
            self._end()
            await self.reporter.report()
        finally:
            for timer in self._timers:
                timer.cancel()

    def see(self, pod: Pod) -> None:
        """Take note of the pod's present object; its deletion stops the containers."""
        self.account.pod = pod
        if pod.metadata.deletion_timestamp is not None:
            self.reporter.is_to_delete = True
            self._stop(pod.metadata.deletion_grace_period_seconds or 0)

    def kill(self) -> None:
        """End everything at once; nobody is to hear of it any more."""
        self.reporter.is_mute = True
        self._stop(0)

    def _was_lost(self) -> bool:
        """Restore what an earlier life of the node had begun; True when that was the end of it."""
        status, account = self.account.pod.status, self.account
        known = {s["name"]: s for s in status.init_container_statuses + status.container_statuses}
        for container in (*account.initial, *account.main):
            container.restore(known.get(container.spec.name, {}))
        failed = any(isinstance(c.state, Terminated) and c.state.code for c in account.initial)
        begun = any(isinstance(c.state, Terminated) for c in account.main)
        return account.pod.spec.restart_policy == "Never" and (failed or begun)

    async def _run_in_order(self) -> None:
        policy = self.account.pod.spec.restart_policy
        sidecars: list[asyncio.Task[None]] = []
        for container in self.account.initial:
            await self._launch(container)
            await self.reporter.report()
            if container.is_sidecar:
                sidecars.append(asyncio.create_task(self._keep(container, "Always")))
                continue
            await self._keep(container, "Never" if policy == "Never" else "OnFailure")
            if not container.has_succeeded:
                break
        else:
            await self._run_main(policy)
        await self._close(sidecars)

    async def _close(self, sidecars: list[asyncio.Task[None]]) -> None:
        """End the sidecars, which outlive the main containers and are not started again."""
        self._is_closing = True
        self._signal(signal.SIGTERM)
        self._kill_after(self.account.pod.spec.termination_grace_period_seconds)
        await asyncio.gather(*sidecars)

    async def _run_main(self, policy: str) -> None:
        await asyncio.gather(*(self._launch(c) for c in self.account.main))
        await self.reporter.report()
        await asyncio.gather(*(self._keep(c, policy) for c in self.account.main))

    async def _launch(self, container: Container) -> None:
        """Start the container; while that cannot be done say why and try again."""
        while not self._is_stopping.is_set():
            obstacle = await self._try(container)
            if obstacle is None:
                return
            container.rest(obstacle)
            await self.reporter.report()
            await self._pause(RETRY_SECONDS)

    async def _try(self, container: Container) -> Waiting | None:
        spec, pod = container.spec, self.account.pod
        if not container.can_be_pulled:
            return Waiting("ImagePullBackOff", f'Back-off pulling image "{spec.image}"')
        try:
            known = await environment.resolve(self._api, pod, spec, self.account.address)
        except (ConfigError, ApiError) as error:
            return Waiting("CreateContainerConfigError", str(error))
        argv = [environment.expand(word, known) for word in (*spec.command, *spec.args)]
        self._folder.mkdir(parents=True, exist_ok=True)
        log = self._folder / f"{spec.name}.log"
        await container.start(argv, self._surroundings() | known, self._folder, log)
        if self._is_stopping.is_set():
            container.send(signal.SIGTERM)
        return None

    async def _keep(self, container: Container, policy: str) -> None:
        """Wait for the container's end, and start it again as often as the policy wants."""
        while True:
            await container.wait()
            if self._is_over_with(container, policy):
                return
            if wait := container.backoff_seconds:
                container.rest(Waiting("CrashLoopBackOff", f"back-off {wait:.0f}s restarting"))
                await self.reporter.report()
                await self._pause(wait)
            await self._launch(container)
            await self.reporter.report()

    def _is_over_with(self, container: Container, policy: str) -> bool:
        is_last = self._is_closing or self._is_stopping.is_set()
        return is_last or not container.is_to_restart(policy)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._is_stopping.wait(), seconds)

    def _surroundings(self) -> dict[str, str]:
        """What an image would set, and the mark by which leftovers are found."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._folder),
            "HOSTNAME": self.account.pod.metadata.name,
            CONTAINER_MARK: str(self._root),
        }

    def _set_deadline(self) -> None:
        seconds = self.account.pod.spec.active_deadline_seconds
        if seconds is not None:
            left = seconds - states.seconds_since(self.account.started)
            self._timers.append(asyncio.get_running_loop().call_later(left, self._expire))

    def _expire(self) -> None:
        message = "Pod was active on the node longer than the specified deadline"
        self.account.verdict = ("DeadlineExceeded", message)
        self._stop(self.account.pod.spec.termination_grace_period_seconds)

    def _stop(self, grace_seconds: float) -> None:
        if self.account.is_over:
            self.reporter.soon()
            return
        if not self._is_stopping.is_set():
            self._is_stopping.set()
            self._signal(signal.SIGTERM, but_sidecars=True)
        if grace_seconds <= 0:
            self._signal(signal.SIGKILL)
            return
        self._kill_after(grace_seconds)

    def _kill_after(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(seconds, self._signal, signal.SIGKILL))

    def _signal(self, number: signal.Signals, *, but_sidecars: bool = False) -> None:
        for container in (*self.account.initial, *self.account.main):
            if not (but_sidecars and container.is_sidecar):
                container.send(number)

    def _end(self) -> None:
        self.account.is_over = True
        if self._is_stopping.is_set():
            for container in self.account.main:
                container.settle()
