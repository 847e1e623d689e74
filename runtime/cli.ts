#!/usr/bin/env node
/** The `stratagem-runtime` command: what an edge node needs, without a solver. */
import { Command } from "commander";
import {
  addCompletion,
  addDiff,
  addInspect,
  addServe,
  addToken,
  print,
  runProgram,
} from "./command-line.ts";
import { addPull } from "./registry-commands.ts";
import { addSignatureFlags, type SignatureFlags, signatureOptions } from "./signature-flags.ts";
import { packageVersion } from "./version.ts";
import { addWorker } from "./worker-command.ts";

const program = new Command("stratagem-runtime")
  .description("Follows the policy bundles that stratagem compiles.")
  .version(packageVersion())
  .exitOverride();

addInspect(program);
addDiff(program);
addServe(program);
addWorker(program);
addPull(program);
addToken(program);
addCompletion(program);

addSignatureFlags(
  program
    .command("verify")
    .description("check integrity, schema and semantics of a bundle, and with --key its signature")
    .argument("<bundle>", "policy bundle"),
)
  .option("--json", "one JSON document on stdout")
  .action(async (path: string, flags: SignatureFlags) => {
    const { verifyCommand } = await import("./commands/verify.ts");
    const { verifySigned } = await import("./commands/verify-signature.ts");
    const signature = signatureOptions(flags, () => Date.now());
    print(await verifySigned(path, signature, () => verifyCommand(path)));
  });

await runProgram(program);
