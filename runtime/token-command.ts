/** Adds `token`, which both command lines have. */
import { type Command, Option } from "commander";
import { print } from "./command-line.ts";
import type { TokenCommand } from "./commands/token.ts";

export function addToken(program: Command): void {
  program
    .command("token")
    .description("make a token for serve --tokens, and the line of its file")
    .requiredOption("--name <name>", "whose it is: letters, digits and . _ @ + -")
    .option("--scopes <scopes>", "what for: infer, admin, metrics, with commas", "infer")
    .option("--expires <time>", "from when it is none, such as 2027-01-31 (default: never)")
    .addOption(
      new Option("--hash <name>", "how it is kept; scrypt is slow on purpose")
        .choices(["sha256", "scrypt"])
        .default("sha256"),
    )
    .option("--json", "one JSON document on stdout")
    .action(async (options: TokenCommand) => {
      const { tokenCommand } = await import("./commands/token.ts");
      print(await tokenCommand(options));
    });
}
