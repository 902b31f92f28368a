import { toIso } from "../../kernel/clock.ts";
import { checkKeys, type DueKey, type KeyContext } from "../../keys/mod.ts";
import { type Finding, ok, warning } from "./finding.ts";

const RENEW = "Make a new one with purser keys create, deploy it, and revoke the old one";

/** Checks that there is an active API key where one is required, and which ones expire soon. */
export async function checkApiKeys(ctx: Pick<KeyContext, "store" | "clock">): Promise<Finding> {
  const { all, active, admin, expiring, lapsed } = await checkKeys(ctx);
  if (all === 0) return ok("none yet, so a server answers this machine only");
  if (active === 0) {
    return warning(
      `none of ${all} is active, so a server refuses every request`,
      "On the database itself: purser keys create NAME --scope admin",
    );
  }
  const counted = `${active} active${admin === 0 ? ", none of them admin" : ""}`;
  const due = [
    ...lapsed.map((key) => `${named(key)} was in use when it expired at ${toIso(key.expiresAt)}`),
    ...expiring.map((key) => `${named(key)} expires at ${toIso(key.expiresAt)}`),
  ];
  return due.length === 0 ? ok(counted) : warning([counted, ...due].join("; "), RENEW);
}

function named({ name, keyId }: DueKey): string {
  return `${name} (${keyId})`;
}
