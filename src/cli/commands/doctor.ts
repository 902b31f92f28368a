import { PurserError } from "../../kernel/errors.ts";
import type { Command, CommandContext } from "../command.ts";
import { EXIT, exitCodeOf } from "../exit_code.ts";
import { type DoctorCheck, renderChecks } from "../render/render_checks.ts";

/** `purser doctor` */
export const doctor: Command = {
  name: "doctor",
  args: [],
  summary: "Check that all works, and say what to do",
  detail:
    "Looks at the config, the database, each channel's settings, the alert rules, keys and deliveries. It " +
    "tries no channel and no key. Exit code 1 if a check failed; 0 with warnings.",
  options: {},
  examples: [
    ["purser doctor", ""],
    ["purser doctor --server http://127.0.0.1:8420", "What a server finds about itself"],
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
      const asked = { before, after, date: answer.headers.get("date") };
      checks.unshift(checkConnection(ctx.config, connection, asked));
    }
  } catch (error) {
    // That nothing can be opened is a finding as well, but not that one may not look. With --json there is no body to
    // print.
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

/** Where nobody answers, this command's own config is the one to look into. */
function ownConfig({ config: { configPath, profile } }: CommandContext): DoctorCheck {
  const file = configPath ?? "no file: all settings have their defaults or come from the environment";
  const detail = profile === undefined ? file : `${file}, profile ${profile}`;
  return { name: "config", status: "ok", detail, advice: null };
}
