import type { Connection } from "../client/mod.ts";
import type { Config } from "../config/mod.ts";
import { isLoopback } from "../http/mod.ts";
import type { DoctorCheck } from "./render/render_checks.ts";

/** `--since` and the days of `purser cost` go by this machine's clock; the `Date` header tells whole seconds. */
const MAX_SKEW_S = 5;

/** When a request was made, and what its answer said the time was. */
export interface AskedAt {
  before: number;
  after: number;
  /** The `Date` header; null where there is none. */
  date: string | null;
}

/**
 * What only this end of a connection knows: who answers, which profile led there, whether a key goes there in clear, and
 * whether the clocks of the two machines agree.
 */
export function checkConnection(
  config: Pick<Config, "profile" | "configPath" | "server" | "apiKey" | "apiKeyFile">,
  { kind, where }: Pick<Connection, "kind" | "where">,
  asked: AskedAt,
): DoctorCheck {
  const by = config.profile === undefined ? "" : `, by the profile ${config.profile}`;
  const own = config.configPath ?? "not there";
  const check = (status: DoctorCheck["status"], detail: string, advice: string | null = null) => ({
    name: "connection",
    status,
    detail,
    advice,
  });
  if (kind === "local") return check("ok", `none needed: this process works on the database${by}`);
  const told = `the server at ${where}${by}; its settings count, this command's own config is ${own}`;
  const url = new URL(config.server!);
  const hasKey = config.apiKey !== undefined || config.apiKeyFile !== undefined;
  if (hasKey && url.protocol === "http:" && !isLoopback(url.hostname)) {
    return check(
      "warning",
      `${told}; the API key goes there in clear, for everybody on the way to read`,
      "Put a proxy that speaks TLS in front of the server, and name it by https://",
    );
  }
  const server = asked.date === null ? NaN : Date.parse(asked.date);
  // The header is cut off to the second.
  const [ahead, doubt] = [
    (asked.before + asked.after) / 2 - server - 500,
    (asked.after - asked.before) / 2 + 500,
  ];
  if (!(Math.abs(ahead) - doubt > MAX_SKEW_S * 1000)) return check("ok", told);
  return check(
    "warning",
    `${told}; this machine's clock is ${Math.round(Math.abs(ahead) / 1000)} s ${
      ahead > 0 ? "ahead of" : "behind"
    } the server's, up to ${MAX_SKEW_S} s is well`,
    "Keep both machines in step by NTP: --since and the days of purser cost go by this machine's clock",
  );
}
