/** Adds `keygen --token` to both command lines; only the compiler's makes signing keys. */
import type { Command } from "commander";
import { RuntimeError } from "../base/errors.ts";
import { print } from "./command-line.ts";
import type { CommandResult } from "./command-result.ts";

export interface TokenFlags {
  readonly token?: true;
  readonly name?: string;
  readonly scopes: string;
  readonly expires?: string;
}

export function withTokens(command: Command): Command {
  return command
    .option("--token", "make a token for serve --tokens, and its line for the file")
    .option("--name <name>", "name of the client: letters, digits and . _ @ + -")
    .option("--scopes <scopes>", "scopes, separated by commas: infer, admin, metrics", "infer")
    .option("--expires <time>", "expiry, such as 2027-01-31 (default: never)");
}

/** Returns null without --token. @throws RuntimeError RUNTIME_USAGE */
export async function tokenOf({
  token,
  name,
  ...flags
}: TokenFlags): Promise<CommandResult | null> {
  if (token === undefined) return null;
  if (name === undefined) {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      "expected --name beside --token: the name of the client",
    );
  }
  const { tokenCommand } = await import("./token.ts");
  return tokenCommand({ name, ...flags });
}

/** Adds `keygen` to a command line that does not sign bundles. */
export function addTokens(program: Command): void {
  withTokens(
    program.command("keygen").description("make a token for serve --tokens, with --token"),
  ).action(async (flags: TokenFlags) => {
    const result = await tokenOf(flags);
    if (result !== null) return print(result);
    throw new RuntimeError(
      "RUNTIME_USAGE",
      "expected --token; use stratagem keygen to make signing keys",
    );
  });
}
