import type { Connection } from "../client/mod.ts";
import type { Config } from "../config/mod.ts";
import { isLoopback } from "../http/mod.ts";
import type { DoctorCheck } from "./render/render_checks.ts";

/** The accepted difference of the clocks: `--since` and the days of `purser cost` use this machine's clock. */
const MAX_SKEW_S = 5;

/** The times of a request: this machine's clock before and after it, and the server's. */
export interface Exchange {
  before: number;
  after: number;
  /** The `Date` header of the response, null if there is none. */
  date: string | null;
}

/**
 * Checks what only the client knows: the server that it uses and the profile that named it, whether the API key is sent
 * unencrypted, and whether the clocks of the two machines agree.
 */
export function checkConnection(
  config: Pick<Config, "profile" | "configPath" | "server" | "apiKey" | "apiKeyFile">,
  { kind, where }: Pick<Connection, "kind" | "where">,
  exchange: Exchange,
): DoctorCheck {
  const by = config.profile === undefined ? "" : `, from the profile ${config.profile}`;
  const own = config.configPath ?? "missing";
  const check = (status: DoctorCheck["status"], detail: string, advice: string | null = null) => ({
    name: "connection",
    status,
    detail,
    advice,
  });
  if (kind === "local") return check("ok", `not needed: this process opens the database${by}`);
  const server = `the server at ${where}${by}; its settings apply, this command's own config is ${own}`;
  const url = new URL(config.server!);
  const hasKey = config.apiKey !== undefined || config.apiKeyFile !== undefined;
  if (hasKey && url.protocol === "http:" && !isLoopback(url.hostname)) {
    return check(
      "warning",
      `${server}; the API key is sent unencrypted`,
      "Put a TLS proxy in front of the server, and use its https:// URL",
    );
  }
  const serverTime = exchange.date === null ? NaN : Date.parse(exchange.date);
  // The header is truncated to whole seconds.
  const [ahead, doubt] = [
    (exchange.before + exchange.after) / 2 - serverTime - 500,
    (exchange.after - exchange.before) / 2 + 500,
  ];
  if (!(Math.abs(ahead) - doubt > MAX_SKEW_S * 1000)) return check("ok", server);
  return check(
    "warning",
    `${server}; this machine's clock is ${Math.round(Math.abs(ahead) / 1000)} s ${
      ahead > 0 ? "ahead of" : "behind"
    } the server's, up to ${MAX_SKEW_S} s is accepted`,
    "Synchronize both machines by NTP: --since and the days of purser cost use this machine's clock",
  );
}
