import { databaseKinds } from "./harness/databases.ts";
import { testStore } from "./store_conformance.ts";

for (const kind of databaseKinds()) testStore(kind);
