/** Adds `pull`, which both packages have. */
import type { Command } from "commander";
import { parseReference } from "../registry/reference.ts";
import { print } from "./command-line.ts";
import type { CommandResult } from "./command-result.ts";
import { addTrustOptions, type SignatureFlags, signatureOptions } from "./signature-flags.ts";

/** Runs work that a signal may end, and prints what it gives. */
type RunPull = (work: (signal?: AbortSignal) => Promise<CommandResult>) => Promise<void>;

/** Adds `pull`. */
export function addPull(program: Command, run: RunPull = printed): void {
  const command = program
    .command("pull")
    .description("bring a policy with its models from a registry into a folder")
    .argument("<reference>", "such as oci://registry.example/team/policy:1.2, or …@sha256:…")
    .requiredOption("-o, --out <folder>", "where to write the bundle and its models");
  addTrustOptions(command).action(async (text: string, flags: PullFlags) => {
    const { pullCommand } = await import("./pull.ts");
    const { out } = flags;
    const trusted = signatureOptions(flags, () => Date.now());
    const reference = parseReference(text);
    const auth = { environment: process.env };
    await run((signal) => pullCommand({ reference, out, trusted, auth, signal }));
  });
}

interface PullFlags extends Omit<SignatureFlags, "models"> {
  readonly out: string;
}

/** A signal ends the process; downloaded files are kept for the next time. */
async function printed(work: () => Promise<CommandResult>): Promise<void> {
  print(await work());
}
