/** `stratagem schema`: JSON Schema of the files users write, for editors. */
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { applicationJsonSchema } from "../spec/application-schema.ts";
import { profileJsonSchema } from "../spec/profile-schema.ts";

export type SchemaKind = "application" | "profile";

export function schemaCommand(kind: SchemaKind): CommandResult {
  const json = kind === "application" ? applicationJsonSchema() : profileJsonSchema();
  return { exitCode: 0, text: JSON.stringify(json, null, 2), json };
}
