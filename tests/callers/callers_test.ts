import { type DatabaseKind, databaseKinds } from "../harness/databases.ts";
import { isThorough } from "../harness/thorough.ts";
import { CALLERS } from "./callers.ts";
import { isElsewhere, makesCalls } from "./sentence.ts";
import { SENTENCES } from "./sentences.ts";
import { worldsOver } from "./world.ts";

/**
 * Each sentence about a model call holds for every caller: a run, `meter()`, and the gateway, over each wire, whole and streamed;
 * and those that can be said of a call that was made elsewhere, for its report and for its log. In memory, and over PostgreSQL.
 * A thorough run tries every one. The gate tries a sentence of each seventh caller, others for the next sentence, so that each wire
 * is there for each kind of caller; and over PostgreSQL one sentence of each fourth caller.
 */
const kindOf = (name: DatabaseKind["name"]) => databaseKinds().find((kind) => kind.name === name)!;
const openInMemory = worldsOver(kindOf("memory"));
const postgres = kindOf("postgres");
const openOverPostgres = worldsOver(postgres);

/** As many callers are all tried in the gate: some of each kind over one wire. */
const FEW = 7;

for (const [turn, { says, of = makesCalls, check }] of SENTENCES.entries()) {
  const all = CALLERS.filter(of);
  const callers = isThorough || all.length <= FEW
    ? all
    : all.filter((caller, index) => (index + turn) % 7 === 0 || isElsewhere(caller));
  Deno.test(`every caller ${says}`, async (test) => {
    for (const caller of callers) {
      await test.step(caller.name, () => check(caller, openInMemory));
    }
  });
}

const shared = SENTENCES.filter(({ isOfSqlite }) => !isOfSqlite);
/** The sentence that the gate tries of each fourth caller. */
const inGate = new Map(
  CALLERS.filter((_, index) => index % 4 === 0).map((caller, index) => {
    const all = shared.filter(({ of = makesCalls }) => of(caller));
    return [caller, all[index % all.length]];
  }),
);

for (const sentence of shared) {
  const { says, of = makesCalls, check } = sentence;
  const callers = CALLERS.filter((caller) => of(caller) && (isThorough || inGate.get(caller) === sentence));
  if (callers.length === 0) continue;
  Deno.test({
    name: `over PostgreSQL, every caller ${says}`,
    ignore: postgres.ignore,
    async fn(test) {
      for (const caller of callers) {
        await test.step(caller.name, () => check(caller, openOverPostgres));
      }
    },
  });
}
