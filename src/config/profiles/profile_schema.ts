import { z } from "zod";
import { PROFILE_NAME } from "./profile_name.ts";

/** A named place of the config: a server or a database, with the secret that belongs there and nowhere else. */
export const Profile = z.strictObject({
  server: z.string().min(1).optional(),
  api_key: z.string().min(1).optional(),
  api_key_file: z.string().min(1).optional(),
  db: z.string().min(1).optional(),
  db_token: z.string().min(1).optional(),
}).superRefine((profile, { addIssue }) => {
  const refuse = (key: keyof typeof profile, message: string) =>
    addIssue({ code: "custom", path: [key], message });
  if ((profile.server === undefined) === (profile.db === undefined)) {
    addIssue({ code: "custom", path: [], message: "must name a server or a db, and only one of them" });
    return;
  }
  if (profile.api_key !== undefined && profile.api_key_file !== undefined) {
    refuse("api_key_file", "stands beside api_key; take one of them out");
  }
  for (const key of ["api_key", "api_key_file"] as const) {
    if (profile.server === undefined && profile[key] !== undefined) {
      refuse(key, "is for a server, and this profile names a db");
    }
  }
  if (profile.db === undefined && profile.db_token !== undefined) {
    refuse("db_token", "is for a db, and this profile names a server");
  }
});
export type Profile = z.infer<typeof Profile>;

/** The `profiles` of the config file, by name. */
export const Profiles = z.record(
  z.string().regex(PROFILE_NAME, "takes letters, digits, ., _ and -, at most 64"),
  Profile,
);
export type Profiles = z.infer<typeof Profiles>;
