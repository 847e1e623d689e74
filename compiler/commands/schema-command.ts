/** The command `schema`, for editors of specs and profiles. */
import type { Command } from "commander";
import { print } from "stratagem-runtime/internal/command-line";
import type { SchemaKind } from "./schema.ts";

export function addSchema(program: Command): void {
  program
    .command("schema")
    .description("print the JSON Schema of the files you write, for editors")
    .addArgument(
      program
        .createArgument("[file]", "which")
        .choices(["application", "profile"])
        .default("application"),
    )
    .option("--json", "one JSON document on stdout")
    .action(async (kind: SchemaKind) => {
      const { schemaCommand } = await import("./schema.ts");
      print(schemaCommand(kind));
    });
}
