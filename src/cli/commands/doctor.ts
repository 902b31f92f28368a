import { PurserError } from "../../kernel/errors.ts";
import { isLoopback } from "../../kernel/loopback_host.ts";
import type { Command, CommandContext } from "../command.ts";
import { EXIT, exitCodeOf } from "../exit_code.ts";
import type { Connection } from "../../client/mod.ts";
import { type Config, type Environment, findDefaultDatabase } from "../../config/mod.ts";
import { escapeText } from "../terminal/escape_text.ts";
import { countOf } from "../render/format_values.ts";
import type { Style } from "../terminal/style.ts";
import { textWidth } from "../terminal/text_width.ts";
import { wrapText } from "../terminal/wrap_text.ts";

/** `purser doctor` */
export const doctor: Command = {
  name: "doctor",
  args: [],
  summary: "Check the setup, and suggest fixes",
  detail:
    "Checks the config file, the database, the settings of each channel, the alert rules, keys, prices and deliveries, and " +
    "asks each model provider for its list of models. It sends no test notification and calls no model. Without a " +
    "server, it also delivers pending notifications. Exit code 1 if a check fails; 0 with warnings.",
  options: {},
  examples: [
    ["purser doctor", ""],
    ["purser doctor --server http://127.0.0.1:8420", "Check a server"],
  ],
  needsDatabase: true,
  run: runDoctor,
};

async function runDoctor(ctx: CommandContext): Promise<number> {
  let checks: DoctorCheck[];
  try {
    const connection = await ctx.connect();
    const before = ctx.clock.now();
    const answer = await connection.api.doctor.$get();
    const after = ctx.clock.now();
    const text = await answer.text();
    checks = JSON.parse(text);
    if (ctx.isJson) ctx.print(text);
    else {
      const exchange = { before, after, date: answer.headers.get("date") };
      checks.unshift(checkConnection(ctx, connection, exchange));
    }
  } catch (error) {
    // A failure to connect is a result of the check, a refusal of access is not; with --json the latter has no body to print.
    if (ctx.isJson || !(error instanceof PurserError) || exitCodeOf(error) === EXIT.notAllowed) throw error;
    checks = [ownConfig(ctx), {
      name: ctx.config.server === undefined ? "start-up" : "server",
      status: "failed",
      detail: error.message,
      advice: null,
    }];
  }
  if (!ctx.isJson) {
    const { stdout, hasUnicode } = ctx.terminal;
    ctx.print(renderChecks(checks, {
      columns: stdout.columns,
      style: ctx.style,
      hasMarks: stdout.isTerminal && hasUnicode,
    }));
  }
  return checks.some(({ status }) => status === "failed") ? EXIT.failed : EXIT.done;
}

/** Names this command's own config, the one to check when the connection fails. */
function ownConfig({ config: { configPath, profile } }: CommandContext): DoctorCheck {
  const file = configPath ?? "no file: all settings have their defaults or come from the environment";
  const detail = profile === undefined ? file : `${file}, profile ${profile}`;
  return { name: "config", status: "ok", detail, advice: null };
}

/** The accepted difference of the clocks: `--since` and the days of `purser cost` use this machine's clock. */
const MAX_SKEW_S = 5;

/** The times of a request: this machine's clock before and after it, and the server's. */
interface Exchange {
  before: number;
  after: number;
  /** The `Date` header of the response, null without one. */
  date: string | null;
}

/**
 * Checks what only the client knows: the server that it uses and the profile that named it, whether the API key is sent
 * unencrypted, and whether the clocks of the two machines agree.
 */
export function checkConnection(
  { config, env }: {
    config: Pick<Config, "profile" | "configPath" | "server" | "apiKey" | "apiKeyFile">;
    env: Environment;
  },
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
  if (kind === "local") {
    const standard = findDefaultDatabase(env);
    const opened = `not needed: this process opens ${
      where === "memory" ? "a database in memory" : where
    }${by}`;
    if (standard === undefined) return check("ok", opened);
    return check(
      "ok",
      where === standard ? `${opened}, the default` : `${opened}; the default is ${standard}`,
    );
  }
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

/** A check of the doctor and its result. */
export interface DoctorCheck {
  name: string;
  status: "ok" | "warning" | "failed";
  detail: string;
  advice: string | null;
}

/** The layout of checks. */
interface CheckLayout {
  /** The width of the terminal. Undefined for other outputs, where text is not wrapped. */
  columns: number | undefined;
  style: Style;
  /** Prints marks instead of words. */
  hasMarks: boolean;
}

const MARKS = { ok: "✓", warning: "!", failed: "✗" };
const PAINTS = { ok: "green", warning: "yellow", failed: "red" } as const;

/** The minimum width of a text beside its name, and of a wrapped line. */
const MIN_WIDTH = 24;

/** Renders the checks, each with its advice below it, and a summary. */
export function renderChecks(checks: readonly DoctorCheck[], layout: CheckLayout): string {
  const nameWidth = Math.max(...checks.map(({ name }) => textWidth(escapeText(name))));
  return [...checks.map((check) => renderCheck(check, nameWidth, layout)), "", summaryOf(checks)].join("\n");
}

function renderCheck(
  { name, status, detail, advice }: DoctorCheck,
  nameWidth: number,
  { columns, style, hasMarks }: CheckLayout,
): string {
  const mark = hasMarks ? MARKS[status] : status.padEnd("warning".length);
  const shown = escapeText(name);
  const beside = mark.length + nameWidth + 4;
  // On a narrow terminal, the detail goes below the name.
  const isBeside = columns === undefined || columns - beside >= MIN_WIDTH;
  const indent = isBeside ? beside : mark.length + 2;
  const width = columns === undefined ? Infinity : Math.max(MIN_WIDTH, columns - indent);
  const lines = wrapText(escapeText(detail), width);
  const arrow = hasMarks ? "→ " : "-> ";
  const advised = advice === null ? [] : wrapText(escapeText(advice), width - arrow.length)
    .map((line, index) => style.dim((index === 0 ? arrow : " ".repeat(arrow.length)) + line));
  const head = `${style[PAINTS[status]](mark)}  ${style.bold(shown)}`;
  const gap = isBeside ? " ".repeat(nameWidth - textWidth(shown) + 2) : "\n" + " ".repeat(indent);
  return head + gap + [...lines, ...advised].join("\n" + " ".repeat(indent));
}

function summaryOf(checks: readonly DoctorCheck[]): string {
  const count = (wanted: DoctorCheck["status"]) => checks.filter(({ status }) => status === wanted).length;
  const [failed, warnings] = [count("failed"), count("warning")];
  if (failed === 0 && warnings === 0) return "All checks passed";
  const parts = [
    failed > 0 ? `${countOf(failed, "check")} failed` : "",
    warnings > 0 ? countOf(warnings, "warning") : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}
