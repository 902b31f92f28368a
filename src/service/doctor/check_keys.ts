import { toIso } from "../../kernel/clock.ts";
import type { KeyContext } from "../../keys/mod.ts";
import { checkKeys, type DueKey } from "../../keys/report/mod.ts";
import { quote } from "./check_budgets.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** Checks that there is an active API key where one is required, which ones expire soon, and which share a name. */
export async function checkApiKeys(ctx: Pick<KeyContext, "store" | "clock">): Promise<Finding> {
  const { all, active, admin, expiring, lapsed, shared } = await checkKeys(ctx);
  if (all === 0) return ok("none yet, so a server answers this machine only");
  if (active === 0) {
    return warning(
      `none of ${all} is active, so a server refuses every request`,
      "On the database itself: purser keys add NAME --scope admin",
    );
  }
  const counted = `${active} active${admin === 0 ? ", none of them admin" : ""}`;
  const due = [
    ...lapsed.map((key) => `${named(key)} was in use when it expired at ${toIso(key.expiresAt)}`),
    ...expiring.map((key) => `${named(key)} expires at ${toIso(key.expiresAt)}`),
  ];
  const doubled = shared.map(({ name, keyIds }) =>
    `${keyIds.length} active keys are named ${name}: ${keyIds.join(", ")}`
  );
  const [first] = [...lapsed, ...expiring];
  const detail = [counted, ...due, ...doubled].join("; ");
  if (first) {
    const key = shared.some(({ name }) => name === first.name) ? first.keyId : quote(first.name);
    return warning(
      detail,
      `Give each a new secret and a later end: purser keys rotate ${key} --expires 90d --grace 24h`,
    );
  }
  const [most] = shared;
  if (!most) return ok(detail);
  return warning(
    detail,
    `Each key has a counter of its own in budgets for each key: revoke all but one, purser keys remove ${
      most.keyIds[0]
    }`,
  );
}

function named({ name, keyId }: DueKey): string {
  return `${name} (${keyId})`;
}
