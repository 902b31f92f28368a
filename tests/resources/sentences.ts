import assert from "node:assert/strict";
import { loadAllCommands } from "../../src/cli/command_table.ts";
import { hasVerb, lineToAdd, type Resource, type World } from "./resources.ts";

const COMMANDS = await loadAllCommands();

/** A sentence that holds for every authored resource, or for those for which it can be said. */
export interface Sentence {
  says: string;
  /** Default: all. */
  of?(resource: Resource): boolean;
  check(resource: Resource, world: World): Promise<void>;
}

/** Adds one of a name, and returns its id. */
async function add(resource: Resource, { run }: World, name: string): Promise<string> {
  const { out } = await run(`${lineToAdd(resource, name)} --json`);
  return JSON.parse(out)[resource.id];
}

/** Returns what the API has of one. */
const read = async ({ path }: Resource, { api }: World, id: string) => await api("GET", `${path}/${id}`);

/** Verbs that change nothing stored, and those that need more than one that was just added: see audit_test.ts. */
const UNAUDITED = new Set([
  "alerts ack",
  "alerts test",
  "alerts history",
  "alerts resend",
  "budgets release",
  "keys set",
]);

const hasEnable = ({ canBeDisabled }: Resource) => canBeDisabled === true;

/** The verbs with an argument, each with an option that `set` needs. */
function lines(resource: Resource, name: string): string[] {
  const options: Record<string, string> = {
    set: resource.canBeDisabled ? " --disabled" : " --allow-credits",
  };
  // `agents set` adds an agent that there isn't.
  const verbs = ["show", "set", "enable", "disable", "remove"]
    .filter((verb) => hasVerb(resource, verb) && !(resource.group === "agents" && verb === "set"));
  return verbs.map((verb) => `${resource.group} ${verb} ${name}${options[verb] ?? ""}`);
}

export const SENTENCES: readonly Sentence[] = [
  {
    says: "has the verbs list, show, add and remove",
    check(resource) {
      const missing = ["list", "show", "add", "remove"].filter((verb) => !hasVerb(resource, verb));
      assert.deepEqual(missing, []);
      for (const verb of ["enable", "disable"]) {
        assert.equal(hasVerb(resource, verb), hasEnable(resource), verb);
      }
      return Promise.resolve();
    },
  },
  {
    says: "is shown by its name as by its id, and with --json as the API has it",
    async check(resource, world) {
      const id = await add(resource, world, "First");
      const byName = await world.run(`${resource.group} show First`);
      assert.deepEqual(await world.run(`${resource.group} show ${id}`), byName);
      const { out } = await world.run(`${resource.group} show First --json`);
      assert.deepEqual(JSON.parse(out), (await read(resource, world, id)).body);
      assert.match((await world.run(`${resource.group} list`)).out, /^First\b/m);
    },
  },
  {
    says: "is not found by a name that is not known, and the nearest one is named",
    async check(resource, world) {
      await add(resource, world, "First");
      for (const line of lines(resource, "Frist")) {
        const { err } = await world.run(line, 3);
        assert.match(err, /^error: Cannot find .*Frist.*; did you mean "?First"?\?\n$/, line);
        assert.match((await world.run(`${line} --json`, 3)).err, /"code":"not_found"/, line);
      }
    },
  },
  {
    says: "is refused with a name that is taken",
    of: ({ hasUniqueNames }) => hasUniqueNames === true,
    async check(resource, world) {
      const id = await add(resource, world, "First");
      const before = await read(resource, world, id);
      assert.match((await world.run(lineToAdd(resource, "First"), 1)).err, /^error: Cannot .*First/);
      assert.deepEqual((await read(resource, world, id)).body, before.body);
    },
  },
  {
    says: "is named by its id where several have the name",
    of: ({ hasUniqueNames }) => !hasUniqueNames,
    async check(resource, world) {
      const ids = [await add(resource, world, "First"), await add(resource, world, "First")];
      for (const line of lines(resource, "First")) {
        const { err } = await world.run(line, 2);
        assert.match(err, new RegExp(`2 \\w+ have it; give the id of one: ${ids.join(", ")}\n`), line);
      }
      await world.run(`${resource.group} remove ${ids[0]}`);
      await world.run(`${resource.group} show First`);
    },
  },
  {
    says: "is changed with its ETag only, or else is as it was, and 412 has its ETag",
    async check(resource, world) {
      for (const [method, below, body] of resource.changes) {
        const id = await add(resource, world, "First");
        const path = `${resource.path}/${id}`;
        const before = await read(resource, world, id);
        const etag = before.headers.get("etag")!;
        const refused = await world.api(method, path + below, body, { "if-match": '"other"' });
        assert.deepEqual([refused.status, refused.body.code], [412, "precondition_failed"], method);
        assert.deepEqual(refused.body.details, { etag });
        assert.deepEqual((await read(resource, world, id)).body, before.body);
        const { status } = await world.api(method, path + below, body, { "if-match": etag });
        assert.ok(status < 300, `${method} ${status}`);
        const after = await read(resource, world, id);
        assert.notEqual(after.headers.get("etag"), etag);
        if (after.status === 200) await world.run(`${resource.group} remove ${id}`);
      }
    },
  },
  {
    says: "is on one page of its list, whatever is added and removed meanwhile",
    async check(resource, world) {
      const names = ["First", "Second", "Third", "Fourth", "Fifth"];
      const ids = [];
      for (const name of names) {
        world.purser.clock.advance(1);
        ids.push(await add(resource, world, name));
      }
      const whole = (await world.api("GET", `${resource.path}?limit=100`)).body;
      const expected = whole.map((one: Record<string, string>) => one[resource.id]);
      assert.deepEqual(ids.filter((id) => !expected.includes(id)), []);
      const seen: string[] = [];
      let path: string | undefined = `${resource.path}?limit=2`;
      while (path !== undefined) {
        const { status, headers, body }: Awaited<ReturnType<World["api"]>> = await world.api("GET", path);
        assert.equal(status, 200);
        seen.push(...body.map((one: Record<string, string>) => one[resource.id]));
        // The last one of a page may go before the next one is read.
        if (seen.length === 2 && resource.group !== "keys") {
          await world.run(`${resource.group} remove ${seen[1]}`);
        }
        path = /<([^>]*)>; rel="next"/.exec(headers.get("link") ?? "")?.[1];
      }
      assert.deepEqual(seen, expected);
    },
  },
  {
    says: "is enabled and disabled once, also when that is said twice",
    of: hasEnable,
    async check(resource, world) {
      const id = await add(resource, world, "First");
      for (const verb of ["disable", "enable"]) {
        world.purser.clock.advance(1_000);
        const first = await world.run(`${resource.group} ${verb} First`);
        const { body } = await read(resource, world, id);
        assert.equal(body.enabled, verb === "enable");
        world.purser.clock.advance(1_000);
        assert.deepEqual(await world.run(`${resource.group} ${verb} ${id}`), first);
        const again = (await read(resource, world, id)).body;
        assert.equal(again.updated_at, body.updated_at);
      }
    },
  },
  {
    says: "is removed by its name or its id, and then is not found",
    async check(resource, world) {
      const { group } = resource;
      for (const by of ["name", "id"]) {
        const name = `By-${by}`;
        const id = await add(resource, world, name);
        assert.match(
          (await world.run(`${group} remove ${by === "id" ? id : name}`)).out,
          /^(Removed|Revoked) /,
        );
        // A revoked key stays in the list.
        if (group === "keys") assert.equal((await read(resource, world, id)).body.status, "revoked");
        else await world.run(`${group} remove ${id}`, 3);
        await world.run(`${group} remove ${id.replace(/_.*|(?<!_.*)$/, "_none")}`, 3);
      }
      await world.run(`${group} remove Xyz`, 3);
    },
  },
  {
    says: "has values that the word none removes",
    async check(resource, world) {
      const [line, shown] = resource.none;
      const id = await add(resource, world, "First");
      await world.run(line);
      const { body } = await read(resource, world, id);
      for (const [field, value] of Object.entries(shown)) assert.deepEqual(body[field], value, field);
    },
  },
  {
    says: "still takes its earlier spellings, which the help marks as deprecated",
    async check(resource, world) {
      await add(resource, world, "First");
      for (const [line, present] of resource.deprecated) {
        await world.run(line);
        const [group, verb] = line.split(" ");
        const { out } = await world.run(`${group} ${verb} --help`);
        assert.ok(out.includes(`Deprecated: write ${present}`), out);
      }
    },
  },
  {
    says:
      "has one entry in the audit log for each verb that changes it, and none for one that changes nothing",
    async check(resource, world) {
      const { group, audited = {} } = resource;
      const readLog = async () => JSON.parse((await world.run("audit --subject First --json")).out);
      const id = await add(resource, world, "First");
      // What a removal needs comes last.
      const verbs = COMMANDS.filter(({ name, isReadOnly, deprecated }) =>
        name.startsWith(`${group} `) && !isReadOnly && !deprecated
      ).map(({ name }) => name.slice(group.length + 1)).filter((verb) => !UNAUDITED.has(`${group} ${verb}`))
        .sort((a, b) => Number(a === "remove") - Number(b === "remove"));
      const actions: Record<string, string> = {
        add: "created",
        enable: "enabled",
        disable: "disabled",
        remove: "removed",
      };
      if (verbs.includes("enable")) await world.run(`${group} disable First`);
      for (const verb of verbs) {
        const [options, action] = audited[verb] ?? ["", actions[verb]];
        const before = (await readLog()).length;
        if (verb !== "add") await world.run(`${group} ${verb} First ${options}`.trim());
        const log = await readLog();
        assert.equal(log.length, before + Number(verb !== "add"), `${group} ${verb}`);
        const entry = verb === "add" ? log.at(-1) : log[0];
        assert.equal(entry.action, action, `${group} ${verb}`);
        assert.deepEqual([entry.subject_id, entry.subject_name], [id, "First"]);
        assert.deepEqual([entry.actor, entry.actor_name, entry.address], world.author);
        assert.doesNotMatch(JSON.stringify(entry), /psr_|hash/);
        if (verb !== "set") continue;
        const [field] = Object.keys(entry.after);
        assert.deepEqual(Object.keys(entry.before), [field]);
        assert.notDeepEqual(entry.before[field!], entry.after[field!]);
        await world.run(`${group} set First ${options}`);
        assert.equal((await readLog()).length, log.length, "the same again is no change");
      }
    },
  },
  {
    says: "names the option where the API refuses a field",
    of: ({ refused }) => refused !== undefined,
    async check(resource, world) {
      await add(resource, world, "First");
      const [line, option] = resource.refused!;
      const { err } = await world.run(line, 1);
      assert.ok(err.includes(` ${option}: `), err);
      assert.doesNotMatch(err, /_id|_usd/);
      assert.match((await world.run(`${line} --json`, 1)).err, /"code":"invalid"/);
    },
  },
];
