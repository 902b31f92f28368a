import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { COUNTED } from "../../contract/costs/dimensions.ts";
import {
  ALL_CALLS,
  ALL_SEEING,
  entityOf,
  idInScope,
  idOfScope,
  isScopeOf,
  kindOfScope,
  scopeOf,
  scopeSql,
  SEES_NOTHING,
  viewerOf,
} from "./mod.ts";

Deno.test("the text of a scope is made and taken apart alike in TypeScript and in SQL", () => {
  using database = new DatabaseSync(":memory:");
  const evaluate = (sql: string) => Object.values(database.prepare(`SELECT ${sql}`).get()!)[0];
  for (const kind of COUNTED) {
    const id = "a-1";
    const scope = scopeOf(kind, id);
    assert.deepEqual(entityOf(scope), { kind, id });
    assert.equal(evaluate(scopeSql(kind, `'${id}'`)), scope);
    assert.equal(evaluate(scopeSql(kind, "NULL")), null);
    assert.deepEqual([evaluate(kindOfScope(`'${scope}'`)), evaluate(idOfScope(`'${scope}'`))], [kind, id]);
    assert.equal(evaluate(idInScope(kind, `'${scope}'`)), id);
    assert.deepEqual(COUNTED.filter((other) => evaluate(isScopeOf(other, `'${scope}'`)) === 1), [kind]);
    assert.equal(evaluate(isScopeOf(kind, `'${ALL_CALLS}'`)), 0);
  }
  assert.deepEqual([entityOf(ALL_CALLS), evaluate(kindOfScope(`'${ALL_CALLS}'`))], [undefined, ""]);
});

Deno.test("a viewer of one agent sees that agent and its own key, another one all or nothing", () => {
  const one = viewerOf({ keyId: "key_1", agentId: "ann" });
  const seen = (viewer: typeof one) =>
    [{ agentId: "ann" }, { agentId: "bob" }, { keyId: "key_1" }, { keyId: "key_2" }, { keyId: null }, {}]
      .map((of) => viewer.sees(of));
  assert.deepEqual(seen(one), [true, false, true, false, false, false]);
  assert.deepEqual(seen(viewerOf({ agentId: "ann" })), [true, false, false, false, false, false]);
  assert.deepEqual(seen(viewerOf({ keyId: "key_1" })), Array(6).fill(true));
  assert.deepEqual([seen(ALL_SEEING), seen(SEES_NOTHING)], [Array(6).fill(true), Array(6).fill(false)]);
  assert.deepEqual([one.scopes, ALL_SEEING.scopes, SEES_NOTHING.scopes], [["ann", "key key_1"], [], []]);
});
