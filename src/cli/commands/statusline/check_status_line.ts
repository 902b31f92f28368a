import { loadConfig, withDefaults } from "../../../config/mod.ts";
import type { BareContext } from "../../command.ts";
import { silentLog } from "../../../kernel/log.ts";
import { EXIT } from "../../exit_code.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { openConnection } from "../../run_command.ts";
import { figuresPath } from "./figures.ts";
import { optionsOfTarget, renderLine } from "./run_status_line.ts";
import { findUnknownNames, NAMES } from "./template.ts";

/**
 * `purser statusline --check`: reads all settings and the ledger as other commands do, and prints the line that a new session has.
 *
 * @throws {PurserError} what is wrong with them
 */
export async function checkStatusLine(ctx: BareContext): Promise<number> {
  const { env, options, clock } = ctx;
  const config = await loadConfig({ env, options: optionsOfTarget(options) });
  const template = options.text("template") ?? config.statuslineTemplate ??
    withDefaults({}).statuslineTemplate;
  const [unknown] = findUnknownNames(template);
  if (unknown) {
    throw new UsageError(
      `Cannot use the template: {${unknown.name}} is none of its names${
        unknown.near === undefined ? `, ${NAMES.join(", ")}` : `; did you mean {${unknown.near}}?`
      }`,
      options.command,
    );
  }
  const connection = await openConnection(undefined, { config, env, log: silentLog, isReadOnly: true });
  try {
    const { errorOf } = await import("../../../client/mod.ts");
    const response = await connection.send(new Request(`http://purser.invalid${figuresPath(null)}`));
    if (!response.ok) throw await errorOf(response);
    const figures = await response.json();
    ctx.print(renderLine(template, figures, { now: clock.now() }));
    return EXIT.done;
  } finally {
    await connection.close();
  }
}
