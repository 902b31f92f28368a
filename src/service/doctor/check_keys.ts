import { toIso } from "../../kernel/clock.ts";
import { checkKeys, type DueKey, type KeyContext } from "../../keys/mod.ts";

/** What the doctor found about the keys. */
export interface KeyFinding {
  status: "ok" | "warning";
  detail: string;
  advice: string | null;
}

const RENEW = "Make a new one with purser keys create, hand it over, and revoke the old one";

/** How things stand with the API keys: whether anybody can come in, and who will soon be left outside. */
export async function examineKeys(ctx: Pick<KeyContext, "store" | "clock">): Promise<KeyFinding> {
  const { all, active, admin, expiring, lapsed } = await checkKeys(ctx);
  if (all === 0) {
    return { status: "ok", detail: "none yet, so a server answers this machine only", advice: null };
  }
  if (active === 0) {
    return {
      status: "warning",
      detail: `none of ${all} is still taken, so a server answers nobody`,
      advice: "On the database itself: purser keys create NAME --scope admin",
    };
  }
  const counted = `${active} active${admin === 0 ? ", none of them admin" : ""}`;
  const due = [
    ...lapsed.map((key) => `${named(key)} was in use when it expired at ${toIso(key.expiresAt)}`),
    ...expiring.map((key) => `${named(key)} expires at ${toIso(key.expiresAt)}`),
  ];
  if (due.length === 0) return { status: "ok", detail: counted, advice: null };
  return { status: "warning", detail: [counted, ...due].join("; "), advice: RENEW };
}

function named({ name, keyId }: DueKey): string {
  return `${name} (${keyId})`;
}
