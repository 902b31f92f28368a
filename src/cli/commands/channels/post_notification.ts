import type { Connection } from "../../../client/mod.ts";
import type { TestResult } from "../../../delivery/mod.ts";
import type { CommandContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { formatCount } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";

/**
 * Posts to the path of a test and prints the result of each channel; the exit code is 1 if any failed. A 502 whose body is
 * no problem document reports that all of them failed.
 */
export async function postTest<Body>(
  ctx: CommandContext,
  { send }: Connection,
  url: URL,
  resultsOf: (body: Body) => readonly TestResult[],
): Promise<number> {
  const answer = await send(new Request(url, { method: "POST" }));
  const isProblem = answer.headers.get("content-type")?.includes("problem") ?? true;
  if (isProblem || !(answer.ok || answer.status === 502)) {
    const { errorOf } = await import("../../../client/mod.ts");
    throw await errorOf(answer);
  }
  const body = await answer.clone().json() as Body;
  const results = resultsOf(body);
  await printAnswer(ctx, answer, () => renderResults(ctx, results));
  return results.every(({ status }) => status === "delivered") ? EXIT.done : EXIT.failed;
}

function renderResults({ layout, style }: CommandContext, results: readonly TestResult[]): string {
  const hasErrors = results.some(({ error }) => error !== null);
  return renderTable(results, [
    { title: "CHANNEL", cell: (result) => result.channel, paint: () => style.bold },
    { title: "KIND", cell: (result) => result.kind, drop: 2 },
    {
      title: "RESULT",
      cell: (result) => result.status,
      paint: (result) => result.status === "delivered" ? style.green : style.red,
    },
    { title: "TIME", align: "right", cell: (result) => `${formatCount(result.duration_ms)} ms`, drop: 1 },
    ...(hasErrors ? [{ title: "REASON", cell: (result: TestResult) => result.error ?? "", cutTo: 20 }] : []),
  ], layout);
}
