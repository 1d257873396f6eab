"""The node agent's process: `python -m e2e.plane.agent`, started by the plane."""

import asyncio
import logging
import signal
from pathlib import Path

import click
from aiohttp import web

from e2e.plane.agent.control import application
from e2e.plane.agent.machine import Machine
from e2e.plane.api import Api
from e2e.plane.processes import CONTAINER_MARK, stop_marked


@click.command()
@click.option("--kubeconfig", type=click.Path(path_type=Path), required=True)
@click.option("--dir", "root", type=click.Path(path_type=Path), required=True)
@click.option("--port", type=int, required=True, help="Loopback port to take orders on.")
@click.option("--nodes", type=int, default=2, show_default=True)
def main(kubeconfig: Path, root: Path, port: int, nodes: int) -> None:
    """Be the nodes of the plane in DIR, until SIGTERM."""
    logging.basicConfig(format="%(asctime)s %(message)s")
    asyncio.run(_run(kubeconfig, root, port, nodes))


async def _run(kubeconfig: Path, root: Path, port: int, nodes: int) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await asyncio.to_thread(stop_marked, CONTAINER_MARK, root)
    async with Api.open(kubeconfig) as api:
        machines = {f"node-{n}": Machine(api, f"node-{n}", n, root) for n in range(1, nodes + 1)}
        runner = web.AppRunner(application(machines))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        for machine in machines.values():
            await machine.come_back()
        await ended.wait()
        for machine in machines.values():
            await machine.die()
        await runner.cleanup()


if __name__ == "__main__":
    main()
