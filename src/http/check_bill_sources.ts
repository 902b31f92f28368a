import { PurserError } from "../kernel/errors.ts";
import type { Core } from "../service/mod.ts";

/** Throws `unsupported` for what needs the sources of bills: an edge, which keeps work alive beyond its request, has none. */
export function checkBillSources({ keepAlive }: Pick<Core, "keepAlive">, action: string): void {
  if (!keepAlive) return;
  const remedy = "do it by a server or a command on the same database";
  throw new PurserError(
    "unsupported",
    `Cannot ${action} at the edge: it has no sources of bills; ${remedy}`,
  );
}
