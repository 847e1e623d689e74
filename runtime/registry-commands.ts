/** What commands that talk to registries share: who asks, and `pull`, which both packages have. */
import { type Command, Option } from "commander";
import { print } from "./command-line.ts";
import type { CommandResult } from "./commands/command-result.ts";
import { RuntimeError } from "./errors.ts";
import type { RegistryAuth } from "./registry/credentials.ts";
import { parseReference, type RegistryReference } from "./registry/reference.ts";
import { addTrustOptions, type SignatureFlags, signatureOptions } from "./signature-flags.ts";

/** As the command line has them. */
export interface RegistryFlags {
  readonly plainHttp?: boolean;
  readonly registryConfig?: string;
  readonly username?: string;
  readonly passwordStdin?: boolean;
}

/** Runs work that a signal may end, and prints what it gives. */
export type RunPull = (work: (signal?: AbortSignal) => Promise<CommandResult>) => Promise<void>;

const MAX_PASSWORD_BYTES = 2 ** 16;

/** Adds the options by which a registry is reached. */
export function addRegistryOptions(command: Command): Command {
  return command
    .option("--plain-http", "talk to the registry without TLS; to this machine's own it is usual")
    .option(
      "--registry-config <file>",
      "credentials as docker login keeps them (default: $REGISTRY_AUTH_FILE, " +
        "$DOCKER_CONFIG/config.json, ~/.docker/config.json, $XDG_RUNTIME_DIR/containers/auth.json)",
    )
    .option("--username <name>", "who asks, with --password-stdin")
    .addOption(
      new Option("--password-stdin", "read the password, or a token, from standard input"),
    );
}

/** @throws RuntimeError RUNTIME_USAGE */
export function referenceOf(text: string, { plainHttp = false }: RegistryFlags): RegistryReference {
  const reference = parseReference(text);
  return plainHttp ? { ...reference, protocol: "http:" } : reference;
}

/** @throws RuntimeError RUNTIME_USAGE where a flag lacks another. */
export async function registryAuth(
  { username, passwordStdin = false, registryConfig: file }: RegistryFlags,
  environment: NodeJS.ProcessEnv,
): Promise<RegistryAuth> {
  if (username !== undefined && !passwordStdin) {
    throw new RuntimeError("RUNTIME_USAGE", "expected --password-stdin beside --username");
  }
  if (!passwordStdin) return { file, environment };
  const password = await readPassword(process.stdin);
  const given =
    username === undefined
      ? ({ kind: "bearer", token: password } as const)
      : ({ kind: "password", username, password } as const);
  return { given, file, environment };
}

/** Adds `pull`. */
export function addPull(program: Command, run: RunPull = printed): void {
  const command = program
    .command("pull")
    .description("bring a policy with its models from a registry into a folder")
    .argument("<reference>", "such as oci://registry.example/team/policy:1.2, or …@sha256:…")
    .requiredOption("-o, --out <folder>", "where to write the bundle and its models");
  addRegistryOptions(addTrustOptions(command))
    .option("--json", "one JSON document on stdout")
    .action(async (text: string, flags: PullFlags) => {
      const { pullCommand } = await import("./commands/pull.ts");
      const { out } = flags;
      const trusted = signatureOptions(flags, () => Date.now());
      const reference = referenceOf(text, flags);
      const auth = await registryAuth(flags, process.env);
      await run((signal) => pullCommand({ reference, out, trusted, auth, signal }));
    });
}

interface PullFlags extends RegistryFlags, Omit<SignatureFlags, "models"> {
  readonly out: string;
}

/** Where a signal ends the process: what was fetched stays for the next time. */
async function printed(work: () => Promise<CommandResult>): Promise<void> {
  print(await work());
}

/** All of it but the end of its line. */
async function readPassword(input: AsyncIterable<Buffer | string>): Promise<string> {
  let text = "";
  for await (const chunk of input) {
    text += chunk.toString();
    if (text.length > MAX_PASSWORD_BYTES) break;
  }
  const password = text.replace(/\r?\n$/, "");
  if (password !== "" && password.length <= MAX_PASSWORD_BYTES) return password;
  throw new RuntimeError("RUNTIME_USAGE", "--password-stdin: expected a password, got none");
}
