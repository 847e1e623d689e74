/** Adds `keygen --token` to both command lines; only the compiler's makes signing keys. */
import type { Command } from "commander";
import { RuntimeError } from "../base/errors.ts";
import { print } from "./command-line.ts";
import type { CommandResult } from "./command-result.ts";

export interface TokenFlags {
  /** Name of whose it is. */
  readonly token?: string;
  readonly scopes: string;
  readonly expires?: string;
}

export function withTokens(command: Command): Command {
  return command
    .option(
      "--token <name>",
      "make a token of that name for serve --tokens, and the line of its file",
    )
    .option("--scopes <scopes>", "what it is for: infer, admin, metrics, with commas", "infer")
    .option("--expires <time>", "expiry of the token, such as 2027-01-31 (default: never)");
}

/** Returns null without --token. @throws RuntimeError RUNTIME_USAGE */
export async function tokenOf({
  token: name,
  ...flags
}: TokenFlags): Promise<CommandResult | null> {
  if (name === undefined) return null;
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
    throw new RuntimeError("RUNTIME_USAGE", "expected --token NAME; stratagem keygen makes keys");
  });
}
