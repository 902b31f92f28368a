import type { Connection } from "../../../client/mod.ts";
import type { Repricing } from "../../../contract/repricings.ts";
import type { CommandContext } from "../../command.ts";
import { renderRepricing } from "../../render/render_repricing.ts";

/** A response with a repricing. */
interface Answer {
  text(): Promise<string>;
}

/** Continues a repricing that takes longer than one request, and returns the last response's body. */
export async function applyToEnd(
  { api }: Connection,
  first: Answer,
  verb: "apply" | "undo",
): Promise<string> {
  for (let answer = first;;) {
    const text = await answer.text();
    const { status, repricing_id }: Repricing = JSON.parse(text);
    if (status !== (verb === "apply" ? "applying" : "undoing")) return text;
    const repricing = api.repricings[":repricing_id"];
    answer = await repricing[verb].$post({ param: { repricing_id: repricing_id! } });
  }
}

/** Prints a repricing: the body of the API with `--json`, else as a table. */
export function printRepricing(
  ctx: CommandContext,
  text: string,
  { isApplied }: { isApplied: boolean },
): void {
  if (ctx.isJson) return ctx.print(text);
  const repricing: Repricing = JSON.parse(text);
  ctx.print(renderRepricing(repricing, ctx.layout));
  if (repricing.status !== "dry_run") return;
  if (isApplied) ctx.say("Nothing was booked: no cost would change");
  else if (repricing.changed_calls > 0) ctx.say("Nothing was changed: apply with --apply");
}
