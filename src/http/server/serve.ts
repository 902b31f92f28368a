import type { Core } from "../../service/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { hasUsableKey } from "../../keys/mod.ts";
import type { Answering } from "../lazy_app.ts";
import { createDoor } from "../middleware/authenticate.ts";
import { isLoopback } from "../middleware/guard.ts";
import { listen, type Listening } from "./listen.ts";

/**
 * Listens: on a loopback address for this machine's people and programs, on any other one for who has a key.
 *
 * @throws {PurserError} `forbidden` for an address that others reach, while there is no key to ask them for;
 * `unavailable` when the port is taken
 */
export async function serve(
  core: Core,
  app: Answering,
  options: { host: string; port: number },
): Promise<Listening> {
  if (!isLoopback(options.host) && !await hasUsableKey(core)) {
    throw new PurserError(
      "forbidden",
      `Cannot listen on ${options.host}: without an API key anybody who reaches it could spend your money; ` +
        "make one with purser keys create NAME --scope admin, or use --host 127.0.0.1",
    );
  }
  return await listen(core, createDoor(core, app), options);
}
