import assert from "node:assert/strict";
import { inDirectory } from "../../tests/harness/in_directory.ts";
import { dirname } from "node:path";
import { readKeyFile } from "./mod.ts";
import { openProfilesFile } from "./profiles_file.ts";

const WRITTEN = `// What this machine uses
{
    "port": 9000, // no other line has it

    /* One of them */
    "profiles": {
        "prod": { "server": "https://prod.example.com" }, // the old one
    },
    "tools": ["./tools.ts"],
}
`;

Deno.test("profiles are added and removed, and the rest of the file is unchanged", () =>
  inDirectory(async (folder) => {
    const path = `${folder}/purser.json`;
    await Deno.writeTextFile(path, WRITTEN);
    await Deno.chmod(path, 0o640);
    const profiles = openProfilesFile(path);
    await profiles.add({ name: "books", db: "libsql://books.example.com" });
    const text = await Deno.readTextFile(path);
    for (
      const comment of [
        "// What this machine uses",
        "// no other line has it",
        "/* One of them */",
        "// the old one",
      ]
    ) {
      assert.ok(text.includes(comment), `${comment}\n${text}`);
    }
    assert.match(text, /^ {8}"books": \{\n {12}"db": "libsql:\/\/books\.example\.com"\n {8}\}/m);
    assert.deepEqual((await profiles.list()).map(({ name }) => name), ["prod", "books"]);
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o640);

    await profiles.remove("books");
    assert.deepEqual((await profiles.list()).map(({ name }) => name), ["prod"]);
    assert.ok((await Deno.readTextFile(path)).includes("// the old one"));
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["purser.json"]);
  }));

Deno.test("a missing config file is created, for its user only", () =>
  inDirectory(async (folder) => {
    const path = `${folder}/config/purser/purser.json`;
    await openProfilesFile(path).add({
      name: "prod",
      server: "https://prod.example.com/",
      apiKeyFile: "/keys/prod",
    });
    assert.equal(
      await Deno.readTextFile(path),
      `{
  "profiles": {
    "prod": {
      "server": "https://prod.example.com",
      "api_key_file": "/keys/prod"
    }
  }
}
`,
    );
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
    assert.equal((await Deno.stat(`${folder}/config/purser`)).mode! & 0o777, 0o700);
  }));

Deno.test("a config file that is a symbolic link stays one", () =>
  inDirectory(async (folder) => {
    await Deno.mkdir(`${folder}/dotfiles`);
    await Deno.writeTextFile(`${folder}/dotfiles/purser.json`, "{}");
    await Deno.symlink(`${folder}/dotfiles/purser.json`, `${folder}/purser.json`);
    await openProfilesFile(`${folder}/purser.json`).add({ name: "books", db: `${folder}/books.db` });
    assert.ok((await Deno.lstat(`${folder}/purser.json`)).isSymlink);
    assert.match(await Deno.readTextFile(`${folder}/dotfiles/purser.json`), /books\.db/);
  }));

Deno.test("line endings, tabs and a byte order mark are kept", () =>
  inDirectory(async (folder) => {
    const path = `${folder}/purser.json`;
    await Deno.writeTextFile(path, '\uFEFF{\r\n\t"port": 9000\r\n}\r\n');
    await openProfilesFile(path).add({ name: "books", db: "/books.db" });
    assert.equal(
      await Deno.readTextFile(path),
      '\uFEFF{\r\n\t"port": 9000,\r\n\t"profiles": {\r\n\t\t"books": {\r\n\t\t\t"db": "/books.db"\r\n\t\t}\r\n\t}\r\n}\r\n',
    );
  }));

Deno.test("a file with a syntax error is not changed, and the message has the position", () =>
  inDirectory(async (folder) => {
    const path = `${folder}/purser.json`;
    for (
      const [text, message] of [
        ['{ "port": 9000\n "db": "x" }', /line 2, column 2: comma expected$/],
        ['{ "profiles": [] }', /profiles: is a list, must be an object$/],
        ['{ "profiles": { "prod": {} } }', /profiles\.prod: must name a server or a db/],
      ] as const
    ) {
      await Deno.writeTextFile(path, text);
      await assert.rejects(openProfilesFile(path).add({ name: "books", db: "/books.db" }), { message });
      assert.equal(await Deno.readTextFile(path), text);
    }
  }));

Deno.test("an invalid profile is refused, and no file is created", () =>
  inDirectory(async (folder) => {
    const profiles = openProfilesFile(`${folder}/purser.json`);
    const wrong = [
      [{ name: "a b", db: "/x.db" }, /a name has 1 to 64/],
      [
        { name: "x", server: "example.com" },
        /^Cannot use --server: it must be an http.*, such as http:\/\/example\.com$/,
      ],
      [{ name: "x", server: "https://me:s3cr3t@example.com" }, /without user/],
      [{ name: "x", db: ":memory:" }, /in memory/],
      [{ name: "x", db: "libsql://me:s3cr3t@example.com" }, /the URL contains a secret/],
    ] as const;
    for (const [profile, message] of wrong) {
      const error = await profiles.add(profile).then(() => assert.fail(), (error) => error);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /s3cr3t/);
    }
    assert.deepEqual([...Deno.readDirSync(folder)], []);
    await profiles.add({ name: "x", db: "/x.db" });
    await assert.rejects(profiles.add({ name: "x", db: "/y.db" }), { code: "conflict" });
    await assert.rejects(profiles.remove("y"), { code: "not_found" });
  }));

Deno.test("a listing contains no secret", () =>
  inDirectory(async (folder) => {
    const path = `${folder}/purser.json`;
    const profiles = {
      one: { server: "https://me:s3cr3t@example.com", api_key: "s3cr3t" },
      two: { db: "libsql://example.com?authToken=s3cr3t", db_token: "s3cr3t" },
      three: { server: "https://example.com", api_key_file: "~/key" },
    };
    await Deno.writeTextFile(path, JSON.stringify({ profiles }));
    const listed = await openProfilesFile(path).list();
    assert.doesNotMatch(JSON.stringify(listed), /s3cr3t/);
    assert.deepEqual(listed.map(({ has_secret, api_key_file }) => [has_secret, api_key_file]), [
      [true, null],
      [true, null],
      [false, "~/key"],
    ]);
  }));

Deno.test("readKeyFile() reads one key, warns where others can read it, and never repeats its content", () =>
  inDirectory(async (folder) => {
    const path = `${folder}/key`;
    const warnings: string[] = [];
    const read = async (text: string, mode: number) => {
      await Deno.writeTextFile(path, text);
      await Deno.chmod(path, mode);
      return await readKeyFile(path, (warning) => warnings.push(warning));
    };
    assert.equal(await read("psr_1\n", 0o600), "psr_1");
    assert.deepEqual(warnings, []);
    assert.equal(await read("  psr_2\r\n", 0o640), "psr_2");
    assert.deepEqual(warnings, [
      `Other users can read the API key file ${path}: chmod 600 ${path}`,
    ]);
    await assert.rejects(read("", 0o600), {
      message: `Cannot use the API key file ${path}: it is empty; write the key into it`,
    });
    for (const text of ["s3cr3t one\ns3cr3t two", "s3cr3t".repeat(1_000), "s3cr3t\u0000"]) {
      await assert.rejects(read(text, 0o600), (error: Error) => !error.message.includes("s3cr3t"));
    }
    await Deno.remove(path);
    await assert.rejects(readKeyFile(path, () => {}), { message: /no such file or directory/ });
    await assert.rejects(readKeyFile(dirname(path), () => {}), { message: /: is a directory; / });
  }));
