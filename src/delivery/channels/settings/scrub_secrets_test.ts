import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { anyCharacter } from "../../../../tests/harness/any_character.ts";
import { createScrub } from "./scrub_secrets.ts";

Deno.test("createScrub() hides a secret verbatim, URL-encoded, URL-decoded, in JSON and in any case", () => {
  const scrub = createScrub([`p4ss/w"rd+é`, "a%2Fb%20cdef"]);
  const forms = [
    ...[`p4ss/w"rd+é`, 'P4SS/W"RD+É', "p4ss%2Fw%22rd%2B%C3%A9", "p4ss%2fw%22rd%2b%c3%a9", `p4ss/w\\"rd+é`],
    ...["a%2Fb%20cdef", "a/b cdef"],
  ];
  for (const form of forms) assert.equal(scrub(`550 <${form}> no`), "550 <***> no", form);
});

Deno.test("createScrub() hides the secret parts of a secret", () => {
  const scrub = createScrub([
    "Bearer b3arertoken",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZI",
    `Basic ${btoa("user:l0ginpassword")}`,
    "/services/T00000000/XXXXXXXX",
    "?token=qu3rytoken&v=1",
    "-----BEGIN\nMIIBVQIBADANBgkq\nhkiG9w0BAQEFAASC\n",
  ]);
  const parts = [
    ...["b3arertoken", "MfKQ9r8GKYqrTwjUPD8ILPZI", "l0ginpassword", "T00000000", "XXXXXXXX", "qu3rytoken"],
    ...["MIIBVQIBADANBgkq", "hkiG9w0BAQEFAASC"],
  ];
  for (const part of parts) assert.equal(scrub(`said ${part}!`), "said ***!", part);
  assert.equal(
    scrub("POST https://h.example/services/T00000000/XXXXXXXX: 404"),
    "POST https://h.example/***: 404",
  );
});

Deno.test("createScrub() hides a secret within base64, at any alignment", () => {
  const secret = "s3cr3t-p4ssword";
  const scrub = createScrub([secret]);
  const cores = ["", "\0u\0", "user:", "ab"].map((before) => btoa(before + secret + "more"));
  for (const core of cores) {
    assert.equal(scrub(`AUTH PLAIN ${core} 535`), "AUTH PLAIN *** 535");
  }
});

Deno.test("createScrub() hides a truncated secret", () => {
  const scrub = createScrub(["s3cr3t-p4ssword"]);
  assert.equal(scrub("said s3cr3t-p4ssw"), "said ***");
  assert.equal(scrub("said s3cr3t-p4ssw…"), "said ***…");
  assert.equal(scrub("said s3cr3"), "said s3cr3");
});

Deno.test("createScrub() keeps words that contain a short secret by chance", () => {
  const scrub = createScrub(["key", ""]);
  assert.equal(scrub("the monkey has key 1"), "the monkey has *** 1");
  assert.equal(createScrub([])("anything"), "anything");
});

Deno.test("createScrub() hides any secret in any context", () => {
  const secret = fc.string({ unit: anyCharacter, minLength: 8, maxLength: 40 }).filter((text) =>
    text.trim().length >= 8
  );
  fc.assert(fc.property(fc.array(secret, { minLength: 1, maxLength: 3 }), fc.string(), (secrets, text) => {
    const scrub = createScrub(secrets);
    for (const one of secrets) {
      const said = scrub(`${text}${one}${text}${encodeURIComponent(one.toWellFormed())}`);
      // A replacement is made of asterisks and slashes.
      if (!/^[*/]+$/.test(one)) assert.ok(!said.includes(one), JSON.stringify([one, said]));
    }
  }));
});
