import type { Connection } from "../../../client/mod.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { idInPath } from "../../parse/command_id.ts";

/** An id that a budget may have; names may look like one too. */
const BUDGET_ID = /^bud_[A-Za-z0-9_-]{1,64}$/;

/**
 * Returns the budget of an id, or the only one of a name.
 *
 * @throws {PurserError} `not_found`; `conflict` where several have the name
 */
export async function findBudget({ api }: Pick<Connection, "api">, text: string) {
  if (BUDGET_ID.test(text)) {
    try {
      const answer = await api.budgets[":budget_id"].$get({ param: { budget_id: idInPath(text) } });
      return await answer.json();
    } catch (error) {
      if (!(error instanceof PurserError && error.code === "not_found")) throw error;
    }
  }
  const found = await (await api.budgets.$get({ query: { name: text } })).json();
  const [budget, ...others] = found;
  if (!budget) {
    throw new PurserError("not_found", `Cannot find budget ${text}: purser budgets list has the names`);
  }
  if (others.length > 0) {
    const ids = found.slice(0, 5).map(({ budget_id }) => budget_id).join(", ");
    throw new PurserError(
      "conflict",
      `Cannot choose among ${found.length} budgets named ${text}: use an id, ${ids}`,
    );
  }
  return budget;
}
