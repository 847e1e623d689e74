/** Parts that commands with registries share, and `pull`, which both packages have. */
import { type Command, Option } from "commander";
import { parseReference, type RegistryReference } from "../registry/reference.ts";
import { print } from "./command-line.ts";
import type { CommandResult } from "./command-result.ts";
import { addTrustOptions, type SignatureFlags, signatureOptions } from "./signature-flags.ts";

/** Flags of the command line. */
export interface RegistryFlags {
  readonly plainHttp?: boolean;
}

/** Runs work that a signal may end, and prints its result. */
export type RunPull = (work: (signal?: AbortSignal) => Promise<CommandResult>) => Promise<void>;

export function plainHttpOption(): Option {
  return new Option(
    "--plain-http",
    "use HTTP without TLS (default for registries on this machine)",
  );
}

/** @throws RuntimeError RUNTIME_USAGE */
export function referenceOf(text: string, { plainHttp = false }: RegistryFlags): RegistryReference {
  const reference = parseReference(text);
  return plainHttp ? { ...reference, protocol: "http:" } : reference;
}

/** Adds `pull`. */
export function addPull(program: Command, run: RunPull = printed): void {
  const command = program
    .command("pull")
    .description("download a policy with its models from a registry")
    .argument(
      "<reference>",
      "policy, such as oci://registry.example/team/policy:1.2, or …@sha256:…",
    )
    .requiredOption("-o, --out <folder>", "folder for the bundle and its models");
  addTrustOptions(command)
    .addOption(plainHttpOption())
    .action(async (text: string, flags: PullFlags) => {
      const { pullCommand } = await import("./pull.ts");
      const { out } = flags;
      const trusted = signatureOptions(flags, () => Date.now());
      const reference = referenceOf(text, flags);
      const auth = { environment: process.env };
      await run((signal) => pullCommand({ reference, out, trusted, auth, signal }));
    });
}

interface PullFlags extends RegistryFlags, Omit<SignatureFlags, "models"> {
  readonly out: string;
}

/** A signal ends the process; downloaded files are kept for the next time. */
async function printed(work: () => Promise<CommandResult>): Promise<void> {
  print(await work());
}
