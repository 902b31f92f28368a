import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { anyCharacter } from "../../tests/harness/any_character.ts";
import { cases } from "../../tests/harness/thorough.ts";
import type { CredentialKind } from "./find_tokens.ts";
import { redactCredentials, redactField } from "./mod.ts";
import {
  HARMLESS,
  HEX,
  hex,
  JWT,
  LETTERS,
  noise,
  PEM,
  PEM_END,
  PLACES,
  TOKENS,
  UPPER,
} from "../../tests/harness/credential_examples.ts";

function redact(text: string, options?: { withoutEntropy: boolean }) {
  const kinds: CredentialKind[] = [];
  return { text: redactCredentials(text, (kind) => kinds.push(kind), options), kinds };
}

const placeholder = (kind: CredentialKind) => `[redacted:${kind}]`;

for (const [kind, examples] of Object.entries(TOKENS) as [CredentialKind, string[]][]) {
  Deno.test(`redactCredentials() replaces a ${kind} wherever it stands`, () => {
    for (const example of examples) {
      assert.deepEqual(redact(example), { text: placeholder(kind), kinds: [kind] });
      assert.equal(redact(`a (${example}) b`).text, `a (${placeholder(kind)}) b`, example);
      assert.equal(redact(`"${example}",\n`).text, `"${placeholder(kind)}",\n`, example);
      assert.equal(redact(`x = '${example}';`).text, `x = '${placeholder(kind)}';`, example);
      assert.deepEqual(redact(JSON.stringify(JSON.stringify(`see\n${example}\n`))).kinds, [kind], example);
    }
  });
}

for (const [kind, examples] of Object.entries(PLACES) as [CredentialKind, string[]][]) {
  Deno.test(`redactCredentials() replaces a ${kind} by where it stands, and nothing around it`, () => {
    for (const example of examples) {
      const expected = example.replace(/«[^»]*(?:»|$)/g, placeholder(kind));
      assert.equal(redact(example.replace(/[«»]/g, "")).text, expected);
    }
  });
}

for (const [what, texts] of Object.entries(HARMLESS)) {
  Deno.test(`redactCredentials() leaves ${what} as they are`, () => {
    for (const text of texts) assert.deepEqual(redact(text), { text, kinds: [] });
  });
}

Deno.test("redactCredentials() reports the kind of a key under a name of credentials by its format", () => {
  const key = "sk-" + "proj-" + noise(48);
  for (
    const text of [`OPENAI_API_KEY=${key}`, `"api_key":"${key}"`, `https://x:${key}@host`, `--token ${key}`]
  ) {
    assert.deepEqual(redact(text), {
      text: text.replace(key, placeholder("openai_key")),
      kinds: ["openai_key"],
    });
  }
});

Deno.test("redactCredentials() reports each credential in order of position", () => {
  const text = `${JWT} then password=hunter2 and ${noise(40)}, ${JWT}`;
  assert.deepEqual(redact(text).kinds, ["jwt", "named_secret", "high_entropy_token", "jwt"]);
});

Deno.test("redactCredentials() keeps random tokens with withoutEntropy, but no known format", () => {
  const key = "sk-" + "ant-api03-" + noise(86);
  const text = `signature ${noise(300)} and ${key}`;
  const expected = text.replace(key, placeholder("anthropic_key"));
  assert.deepEqual(redact(text, { withoutEntropy: true }), { text: expected, kinds: ["anthropic_key"] });
});

Deno.test("redactCredentials() takes nearly every random token and hardly a hexadecimal or a lower-case one", () => {
  const share = (alphabet: string, length: number) => {
    const character = fc.constantFrom(...alphabet);
    const token = fc.noBias(fc.array(character, { minLength: length, maxLength: length }));
    const tokens = fc.sample(token, { numRuns: 500, seed: 1 });
    return tokens.filter((token) => redact(token.join("")).kinds.length > 0).length / tokens.length;
  };
  assert.ok(share(LETTERS + "0123456789", 32) > 0.9);
  assert.ok(share(LETTERS + "0123456789-_", 43) > 0.9);
  assert.equal(share(HEX, 64), 0);
  assert.equal(share(UPPER.toLowerCase() + "0123456789", 32), 0);
});

/** Texts of credentials, what stands around them, and anything. */
const TEXTS = fc.array(
  fc.oneof(
    fc.constantFrom(...Object.values(TOKENS).flat()),
    fc.constantFrom(
      ...'password= "password":" \\"token\\":\\" Authorization: Bearer API_KEY= ?key= &token= https:// user:pass@ @host'
        .split(" "),
      ..."hunter2 abc12345 + - _ / = : ; , . ' ` ] [ ( ) { } < > … \\n \\ % %3D \\u0026 <password> </password> -u curl"
        .split(" "),
      ...[
        "--token ",
        "Cookie: a=bbbbbbbbbb",
        PEM,
        PEM_END,
        "sha512-",
        " ",
        "\n",
        "\r\n",
        "\t",
        "key: ",
        "secret",
      ],
    ),
    fc.integer({ min: 1, max: 90 }).map((length) => noise(length)),
    fc.string(),
    fc.string({ unit: anyCharacter }),
  ),
  { maxLength: 12 },
).map((parts) => parts.join(""));

Deno.test("redactCredentials() changes nothing in what it returned before", () => {
  fc.assert(fc.property(TEXTS, (text) => {
    const once = redact(text).text;
    assert.deepEqual(redact(once), { text: once, kinds: [] });
  }));
});

Deno.test("redactCredentials() never changes the rest of a text", () => {
  fc.assert(fc.property(TEXTS, (text) => {
    const { text: redacted, kinds } = redact(text);
    if (kinds.length === 0) return assert.equal(redacted, text);
    const rests = redacted.split(/\[redacted:\w+\]/);
    assert.ok(text.startsWith(rests[0]!) && text.endsWith(rests.at(-1)!));
    let at = 0;
    for (const rest of rests) {
      const next = text.indexOf(rest, at);
      assert.ok(next >= 0, `${JSON.stringify(rest)} of ${JSON.stringify(text)}`);
      at = next + rest.length;
    }
  }));
});

const LONG = cases(300_000);

Deno.test("redactCredentials() is not held up by a long hostile text", () => {
  const parts = [
    ...'a A1b é sk- sk-ant- eyJ eyJ. SG. AKIA - --a _ = : > " \\ \\" % \\n a/ A1b2+/ https:// https://a: ://a:b'
      .split(" "),
    ...'password= password=" password: token: <password> &key= ?token=a1b2c3d4 [redacted: cookie:a=bbbbbbbbb'
      .split(" "),
    ...[
      "key: ",
      "--password ",
      "curl -u ",
      " -u a:b",
      "Authorization: ",
      "Bearer ",
      "Cookie: ",
      "A: ",
      "+ ",
      "\n",
    ],
    ...[
      "-----BEGIN ",
      PEM,
      PEM_END,
      `${PEM}\n`,
      `${PEM}\\n`,
      "PRIVATE KEY",
      `${noise(28)} `,
      `${noise(64)}\n`,
    ],
    ...["password='password=\"", "https://hooks.slack.com/services/"],
  ];
  for (const part of parts) {
    const text = part.repeat(Math.ceil(LONG / part.length));
    redact(text); // it ends: where time grew with the square of the length, this test would not
  }
});

Deno.test("redactField() takes a value by its field's name, whatever it looks like", () => {
  const cases: [string, string, string][] = [
    ["password", "hunter2", "[redacted:named_secret]"],
    ["db_password", "correct horse battery staple", "[redacted:named_secret]"],
    ["clientSecret", "abc", "[redacted:named_secret]"],
    ["api_key", "demo", "[redacted:named_secret]"],
    ["api_key", "sk-" + "ant-api03-" + noise(86), "[redacted:anthropic_key]"],
    ["Authorization", "Bearer abc", "Bearer [redacted:authorization_header]"],
    ["authorization", "Bearer " + JWT, "Bearer [redacted:jwt]"],
    ["Cookie", "a=b", "[redacted:cookie]"],
    ["aws_secret_access_key", "abc", "[redacted:aws_secret_key]"],
    ["token", hex, "[redacted:named_secret]"],
    ["note", `the key is ${JWT}`, "the key is [redacted:jwt]"],
  ];
  for (const [name, value, expected] of cases) {
    const kinds: CredentialKind[] = [];
    const found = (kind: CredentialKind) => void kinds.push(kind);
    assert.equal(redactField(name, value, found), expected);
    assert.equal(kinds.length, 1);
    assert.equal(redactField(name, expected, found), expected);
    assert.equal(kinds.length, 1);
  }
});

Deno.test("redactField() keeps placeholders, and words under a weak name", () => {
  const cases = [
    ["password", ""],
    ["password", "********"],
    ["password", "${DB_PASSWORD}"],
    ["api_key", "YOUR_API_KEY"],
    ["Authorization", "Bearer <token>"],
    ["token", " world"],
    ["token", "comment.doc.2"],
    ["secret", "db-credentials"],
    ["auth", "none"],
    ["next_page_token", "CAUQAA"],
    ["resetPassword", "Reset password"],
    ["name", "hunter2"],
    ["etag", noise(32)],
    ["responseId", noise(32)],
  ];
  for (const [name, value] of cases) {
    assert.equal(redactField(name!, value!, () => assert.fail(`${name}: ${value}`)), value);
  }
});
