"""The orders a node agent takes: POST /nodes/NAME/FAULT on loopback."""

from collections.abc import Mapping

from aiohttp import web

from e2e.plane.agent.machine import Machine


def application(machines: Mapping[str, Machine]) -> web.Application:
    """Answers once the fault has happened; 404, with a sentence, for an unknown node or fault."""

    async def obey(request: web.Request) -> web.Response:
        name, fault = request.match_info["node"], request.match_info["fault"]
        machine = machines.get(name)
        if machine is None:
            known = ", ".join(machines)
            return web.Response(status=404, text=f"There is no node {name}: say one of {known}.")
        match fault:
            case "die":
                await machine.die()
            case "silence":
                await machine.silence()
            case "return":
                await machine.come_back()
            case _:
                return web.Response(status=404, text=f"{fault} is nothing that befalls a node.")
        return web.Response(text="done")

    app = web.Application()
    app.router.add_post("/nodes/{node}/{fault}", obey)
    return app
