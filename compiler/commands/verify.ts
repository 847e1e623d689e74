/** Commands that read one bundle: `inspect` and `verify`. */

import type { Command } from "commander";
import { parallelism } from "stratagem-runtime/internal/base/control-groups";
import { addInspect } from "stratagem-runtime/internal/commands/bundle-commands";
import {
  addSignatureFlags,
  type SignatureFlags,
  signatureOptions,
} from "stratagem-runtime/internal/commands/signature-flags";
import type { Tools } from "./watched.ts";

/** Adds `inspect` with a solver for the values of a state's actions. */
export function addValuedInspect(program: Command): void {
  addInspect(program, async (bundle, level, queued, slackMs) => {
    const { methodOf } = await import("../methods/registry.ts");
    return (await methodOf(bundle)).actionValues(bundle, level, queued, slackMs);
  });
}

export function addVerify(program: Command, { watched, print, epochMs }: Tools): void {
  addSignatureFlags(
    program
      .command("verify")
      .description(
        "check a bundle and recompute the guarantees it states; with --key check its signature " +
          "first",
      )
      .argument("<bundle>", "policy bundle"),
  ).action(async (path: string, flags: SignatureFlags) => {
    const { verifyCommand } = await import("../levels/verify-levels.ts");
    const { verifySigned } = await import("stratagem-runtime/internal/commands/verify-signature");
    const signature = signatureOptions(flags, epochMs);
    const jobs = parallelism();
    const verify = () => {
      return watched("checking levels", (watch) => verifyCommand(path, { jobs, ...watch }));
    };
    print(await verifySigned(path, signature, verify));
  });
}
