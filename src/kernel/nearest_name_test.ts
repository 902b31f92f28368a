import assert from "node:assert/strict";
import { nearestName } from "./nearest_name.ts";

Deno.test("nearestName() finds the name itself before longer ones, and of two that are as near the shorter one", () => {
  assert.equal(nearestName("K_call", ["k_call_m1", "k_call"]), "k_call");
  assert.equal(nearestName("k_cal", ["k_call_m1", "k_call"]), "k_call");
  assert.equal(nearestName("nothing", ["k_call"]), undefined);
});
