/** Adds `verify` of the runtime, which has no solver to recompute promises. */
import type { Command } from "commander";
import { print } from "./command-line.ts";
import { addSignatureFlags, type SignatureFlags, signatureOptions } from "./signature-flags.ts";

export function addVerify(program: Command): void {
  addSignatureFlags(
    program
      .command("verify")
      .description(
        "check integrity, schema and semantics of a bundle, and with --key its signature",
      )
      .argument("<bundle>", "policy bundle"),
  ).action(async (path: string, flags: SignatureFlags) => {
    const { verifyCommand } = await import("./verify.ts");
    const { verifySigned } = await import("./verify-signature.ts");
    const signature = signatureOptions(flags, () => Date.now());
    print(await verifySigned(path, signature, () => verifyCommand(path)));
  });
}
