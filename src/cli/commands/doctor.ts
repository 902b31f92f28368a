import type { Connection } from "../../client/mod.ts";
import { PurserError } from "../../errors.ts";
import type { CommandContext } from "../command.ts";
import { EXIT } from "../exit_code.ts";
import { type DoctorCheck, renderChecks } from "../render_checks.ts";

/** `purser doctor` */
export async function doctor(ctx: CommandContext): Promise<number> {
  let kind: Connection["kind"] | undefined;
  let checks: DoctorCheck[];
  try {
    const connection = await ctx.connect();
    kind = connection.kind;
    const text = await (await connection.api.doctor.$get()).text();
    checks = JSON.parse(text);
    if (ctx.isJson) ctx.print(text);
  } catch (error) {
    // That nothing can be opened is a finding as well. With --json there is no body to print.
    if (ctx.isJson || !(error instanceof PurserError)) throw error;
    const name = ctx.config.server === undefined ? "start-up" : "server";
    checks = [{ name, status: "failed", detail: error.message, advice: null }];
  }
  if (!ctx.isJson) {
    const { stdout, hasUnicode } = ctx.terminal;
    ctx.print(renderChecks([configCheck(ctx, kind), ...checks], {
      columns: stdout.columns,
      style: ctx.style,
      hasMarks: stdout.isTerminal && hasUnicode,
    }));
  }
  return checks.some(({ status }) => status === "failed") ? EXIT.failed : EXIT.done;
}

/** Which config file holds is known of this process only; the API says nothing of it. */
function configCheck({ config }: CommandContext, kind: Connection["kind"] | undefined): DoctorCheck {
  const own = config.configPath ?? "no file: all settings have their defaults or come from the environment";
  const detail = kind === "owner"
    ? `that of the process that owns the database, which is not known here; this command's own is ${
      config.configPath ?? "not there"
    }`
    : kind === "remote"
    ? "the server's own, which is not known here"
    : own;
  return { name: "config", status: "ok", detail, advice: null };
}
