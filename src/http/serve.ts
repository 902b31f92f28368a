import type { Core } from "../core.ts";
import { PurserError } from "../errors.ts";
import type { App } from "./app.ts";
import { createDoor } from "./door.ts";
import { isLoopback } from "./guard.ts";
import { listen, type Listening } from "./listen.ts";

/**
 * Listens on a loopback address, for this machine's people and programs.
 *
 * @throws {PurserError} `forbidden` for any other address: there are no keys yet that could protect it;
 * `unavailable` when the port is taken
 */
export async function serve(
  core: Core,
  app: App,
  options: { host: string; port: number },
): Promise<Listening> {
  if (!isLoopback(options.host)) {
    throw new PurserError(
      "forbidden",
      `Cannot listen on ${options.host}: without API keys anybody who reaches it could spend your money; ` +
        "use --host 127.0.0.1, and a tunnel or a proxy that asks for credentials",
    );
  }
  return await listen(core, createDoor(core, app), options);
}
