import { importFile } from "../../src/kernel/files/import_file.ts";
import { makeImporter } from "../../src/ingest/logs/load_importers.ts";
import { testImporter } from "../../src/ingest/logs/testing/conformance.ts";
import { allBlocks, readDocument } from "../harness/documents.ts";

/** The importer of docs/writing_an_importer.md passes the suite with the fixture of that document. */

const blocks = allBlocks(await readDocument("docs/writing_an_importer.md"));
const codeOf = (language: string, has = "") =>
  blocks.find((block) => block.language === language && block.code.includes(has))!.code;

const folder = await Deno.makeTempDir();
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

const logs = `${folder}/fixtures/first/.acme/sessions`;
await Deno.mkdir(logs, { recursive: true });
await Deno.writeTextFile(`${logs}/a1.jsonl`, codeOf("jsonl"));
await Deno.writeTextFile(`${folder}/fixtures/first/expected.json`, codeOf("json", "emitter"));
await Deno.writeTextFile(`${folder}/acme.ts`, codeOf("ts", "defineImporter"));

testImporter(async () => await makeImporter((await importFile(`${folder}/acme.ts`)).default), {
  name: "acme",
  fixtures: `${folder}/fixtures`,
});
