import { checkChannels } from "./src/channels/mod.ts";
import { ownDatabase } from "./src/client/mod.ts";
import { loadConfig, readEnvironment } from "./src/config.ts";
import { messageOf } from "./src/errors.ts";
import { createDoor } from "./src/http/mod.ts";
import { createJsonLog, neverThrowing } from "./src/log.ts";
import { surviveFaults } from "./src/survive_faults.ts";

/** The server entry for `deno serve main.ts`; settings come from the environment and the config file. */

/** How long runs get to end after SIGTERM, before they are cancelled. */
const GRACE_MS = 30_000;

const env = readEnvironment();
const config = await loadConfig({ env, defaults: { logLevel: "info" } });
const log = neverThrowing(
  createJsonLog({ level: config.logLevel, write: (line) => console.error(line) }),
);
surviveFaults((message) => log.error(message));
// As its owner, so that commands beside this server find their way to a local file.
const { core, app, close } = await ownDatabase({ config, env, log, say: (line) => log.info(line) });

try {
  await checkChannels(core.channels, config.configPath);
} catch (error) {
  console.error(`error: ${messageOf(error)}`);
  await close({ graceMs: GRACE_MS });
  Deno.exit(1);
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.addSignalListener(signal, async () => {
    await close({ graceMs: GRACE_MS });
    Deno.exit(signal === "SIGTERM" ? 0 : 130);
  });
}

/** `deno serve` binds to every address unless told otherwise; the door knows who may come in. */
const door = createDoor(core, app);

export default {
  fetch(request: Request, info?: Deno.ServeHandlerInfo): Response | Promise<Response> {
    const address = info?.remoteAddr;
    return door(request, address?.transport === "tcp" ? address.hostname : address && "127.0.0.1");
  },
};
