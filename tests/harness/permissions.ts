import { type Permission, permissionsOf } from "../../src/http/mod.ts";
import { openTestPurser } from "./test_purser.ts";

await using purser = await openTestPurser();

/** The permission of every route, by method and path. */
export const ROUTE_PERMISSIONS: Readonly<Record<string, Permission>> = Object.fromEntries(
  permissionsOf(purser.app),
);
