import { createApp, isLoopback, loopbackGuard, problemResponse, toProblem } from "./src/http/mod.ts";
import { loadConfig, readEnvironment } from "./src/config.ts";
import { openCore } from "./src/core.ts";
import { PurserError } from "./src/errors.ts";
import { createJsonLog } from "./src/log.ts";

/** The server entry for `deno serve main.ts`; settings come from the environment and the config file. */

const env = readEnvironment();
const config = await loadConfig({ env, defaults: { logLevel: "info" } });
const log = createJsonLog({ level: config.logLevel, write: (line) => console.error(line) });
const core = await openCore({ config, env, log });
const app = createApp(core);

/** `deno serve` binds to every address unless told otherwise; without keys only this machine is answered. */
function guard(request: Request, info?: Deno.ServeHandlerInfo): void {
  const address = info?.remoteAddr;
  if (address && address.transport === "tcp" && !isLoopback(address.hostname)) {
    throw new PurserError("forbidden", "Cannot answer another machine: this server has no API keys");
  }
  loopbackGuard(request);
}

export default {
  fetch(request: Request, info?: Deno.ServeHandlerInfo): Response | Promise<Response> {
    try {
      guard(request, info);
    } catch (error) {
      return problemResponse(toProblem(error, new URL(request.url).pathname, log, core.ids.next("req")));
    }
    return app.fetch(request);
  },
};
