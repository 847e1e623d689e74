/** Commands about a bundle: `inspect`, which both command lines have, and `verify`. */
import type { Command } from "commander";
import type { ActionValuesOf } from "../methods/method.ts";
import { positiveNumber, print } from "./command-line.ts";
import { addSignatureFlags, type SignatureFlags, signatureOptions } from "./signature-flags.ts";

/**
 * Adds `inspect`.
 * @param actionValuesOf computes the values of a state's actions, if there is a solver.
 */
export function addInspect(program: Command, actionValuesOf?: ActionValuesOf): void {
  program
    .command("inspect")
    .description("show the contents of a bundle, or the load and pace of a server")
    .argument("<bundle>", "policy bundle, or the URL of a server")
    .option("--level <qps>", "show the policy of the level for this load", positiveNumber)
    .option(
      "--state <state>",
      "show the decision in a state, such as queued=7,slack=40ms or with class=NAME",
    )
    .action(async (path: string, options: { level?: number; state?: string }) => {
      const { inspectCommand } = await import("./inspect.ts");
      const loadQps = options.level ?? null;
      const state = options.state ?? null;
      print(await inspectCommand({ path, loadQps, state }, actionValuesOf));
    });
}

/** Adds `verify` of the runtime, which has no solver to compute promises again. */
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
