import { testEachRow } from "./each_row_conformance.ts";
import { databaseKinds } from "./harness/databases.ts";
import { testSchema } from "./schema_conformance.ts";
import { testStore } from "./store_conformance.ts";

for (const kind of databaseKinds()) {
  testStore(kind);
  testEachRow(kind);
  testSchema(kind);
}
