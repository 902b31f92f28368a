import type { ApiKey } from "../../keys/mod.ts";
import { formatTime } from "./format_values.ts";
import type { Paint, Style } from "../terminal/style.ts";

/** `run, agent researcher only, until 2027-01-31 00:00:00 UTC`. */
export function describeKey(
  { scopes, agent_id, expires_at }: Pick<ApiKey, "scopes" | "agent_id" | "expires_at">,
): string {
  return [
    scopes.join(" and "),
    ...(agent_id === null ? [] : [`agent ${agent_id} only`]),
    expires_at === null ? "until it is revoked" : `until ${formatTime(expires_at)} UTC`,
  ].join(", ");
}

/** The colour of a key's status. */
export function paintKeyStatus({ status }: Pick<ApiKey, "status">, style: Style): Paint {
  return { active: style.green, expired: style.yellow, revoked: style.dim }[status];
}
