import assert from "node:assert/strict";
import { EDGE_LIMITS } from "../../src/edge/mod.ts";
import { isThorough } from "../harness/thorough.ts";
import { restCases } from "./cases/mod.ts";
import { createRestView, type RestCase } from "./rest_case.ts";
import { startSurroundings } from "./surroundings.ts";
import { type RestTarget, restTargets } from "./targets.ts";

const all = Object.entries(restCases).flatMap(([about, cases]) =>
  cases.map((each, index) => ({ ...each, about, prefix: `${about}-${index + 1}` }))
);

/** The first case of each resource, and those of what only an edge does. */
const sample = all.filter(({ about, without }, index) =>
  without !== undefined || about !== all[index - 1]?.about
);

/** The table decides, and nothing else. */
function isLeftOut({ needs, without }: RestCase, { isEdge }: RestTarget): boolean {
  return isEdge ? needs !== undefined : without !== undefined;
}

const isInGate = ({ isEdge, isCombination }: RestTarget) => !(isEdge && isCombination);

for (const target of restTargets.filter((target) => isThorough || isInGate(target))) {
  Deno.test({
    name: `the REST suite passes on ${target.name}`,
    ignore: target.ignore,
    async fn(t) {
      await using surroundings = await startSurroundings();
      await using server = await target.start(surroundings.environment({ tools: !target.isEdge }));
      const view = createRestView(server, surroundings);
      // The routes are the same code on each; what differs is the server, and the database.
      const isSampled = (target.isCombination === true || target.isEdge) && !isThorough;
      let hasFailed = false;
      for (const each of isSampled ? sample : all) {
        const passed = await t.step({
          name: `${each.about}: ${each.name}`,
          ignore: isLeftOut(each, target),
          fn: () => each.run(view.of(each.prefix)),
        });
        hasFailed ||= !passed && !isLeftOut(each, target);
      }
      if (hasFailed) console.error(server.log());
      if (!isSampled) {
        await t.step("every operation of the OpenAPI document was requested, and succeeded", async () => {
          assert.deepEqual(await view.untried(), []);
        });
      }
      await t.step("no internal error was logged", () => {
        const faults = server.log().split("\n").filter((line) => line.includes('"level":"error"'));
        assert.deepEqual(faults, []);
      });
    },
  });
}

Deno.test("each limitation of an edge has a case that shows it there, and one that shows the feature elsewhere", () => {
  for (const [name, { effect }] of Object.entries(EDGE_LIMITS)) {
    if (effect === "differs") continue;
    // Settings that prevent the start are tested elsewhere.
    if (["local_database", "postgres", "config_file"].includes(name)) continue;
    assert.ok(all.some(({ needs }) => needs === name), `needs ${name}`);
    if (name !== "tools") assert.ok(all.some(({ without }) => without === name), `without ${name}`);
  }
});
