import { PurserError } from "../../kernel/errors.ts";
import type { Command, CommandContext } from "../command.ts";
import { EXIT, exitCodeOf } from "../exit_code.ts";
import { type DoctorCheck, renderChecks } from "../render/render_checks.ts";

/** `purser doctor` */
export const doctor: Command = {
  name: "doctor",
  args: [],
  summary: "Check the setup, and suggest fixes",
  detail:
    "Checks the config file, the database, the settings of each channel, the alert rules, keys and deliveries. It " +
    "sends no notification and tries no key. Exit code 1 if a check fails; 0 with warnings.",
  options: {},
  examples: [
    ["purser doctor", ""],
    ["purser doctor --server http://127.0.0.1:8420", "Check a server"],
  ],
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
      const { checkConnection } = await import("../check_connection.ts");
      const exchange = { before, after, date: answer.headers.get("date") };
      checks.unshift(checkConnection(ctx.config, connection, exchange));
    }
  } catch (error) {
    // A failure to connect is a result of the check, a refusal of access is not. With --json there is no body to print.
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
