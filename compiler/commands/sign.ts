/** Commands that make keys and sign bundles: `keygen` and `sign`. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Labels } from "stratagem-runtime/internal/bundles/trust/labels";
import { labelsFlag } from "stratagem-runtime/internal/commands/signature-flags";
import {
  type TokenFlags,
  tokenOf,
  withTokens,
} from "stratagem-runtime/internal/commands/token-command";
import { collect } from "./options.ts";
import type { Tools } from "./watched.ts";

/** Environment variable with the passphrase of private keys, if they are encrypted. */
const PASSPHRASE = "STRATAGEM_KEY_PASSPHRASE";

interface KeygenFlags extends TokenFlags {
  readonly out?: string;
}

export function addKeygen(program: Command, { print }: Tools): void {
  const command = program
    .command("keygen")
    .description("make a key pair for bundles, NAME.key to sign and NAME.pub to verify; or a token")
    .addOption(
      new Option("-o, --out <name>", "path of both files, without .key and .pub").conflicts(
        "token",
      ),
    );
  withTokens(command)
    .addHelpText("after", `\nIf ${PASSPHRASE} is set, NAME.key is encrypted with it.`)
    .action(async ({ out: name, ...flags }: KeygenFlags) => {
      const token = await tokenOf(flags);
      if (token !== null) return print(token);
      if (name === undefined) {
        throw new RuntimeError("RUNTIME_USAGE", "expected -o NAME or --token NAME, got neither");
      }
      const { keygenCommand } = await import("../signing/keygen.ts");
      const passphrase = process.env[PASSPHRASE];
      print(await keygenCommand({ name, passphrase }));
    });
}

interface SignFlags {
  readonly key: readonly string[];
  readonly serial?: number;
  readonly expires?: string;
  readonly scope?: Labels;
  readonly add?: true;
  readonly provenance?: string;
  readonly builder?: string;
  readonly cosignKey?: string;
}

export function addSign(program: Command, { print, compiler, epochMs }: Tools): void {
  program
    .command("sign")
    .description("sign a bundle and, by their digests, the files it names")
    .argument("<bundle>", "policy bundle")
    .requiredOption("--key <file>", "private key, NAME.key (repeatable)", collect, [])
    .option(
      "--serial <n>",
      "serial above that of any earlier bundle (default: the time in ms)",
      serial,
    )
    .option("--expires <time>", "expiry: a date such as 2027-01-31, or 90d from now")
    .option(
      "--scope <labels>",
      "sites that may use it, such as tier=edge (default: all)",
      labelsFlag,
    )
    .option("--add", "add to the existing signatures, with their serial, expiry and scope")
    .option(
      "--provenance <spec>",
      "write signed SLSA provenance beside the bundle; the files of the spec are compared",
    )
    .option("--builder <uri>", "builder in the provenance, such as the URL of a workflow")
    .option(
      "--cosign-key <file>",
      "also write BUNDLE.sig for cosign verify-blob, signed with this key, P-256 or Ed25519",
    )
    .addHelpText("after", `\n${PASSPHRASE} has the passphrase of encrypted keys.`)
    .action(async (bundle: string, flags: SignFlags) => {
      const { signCommand } = await import("../signing/sign.ts");
      const { key: keyFiles, serial = null, expires = null, scope = {} } = flags;
      const { add = false, provenance = null, builder = null, cosignKey = null } = flags;
      const about = { serial, expires, scope, add, provenance, builder, cosignKey };
      const around = { passphrase: process.env[PASSPHRASE], compiler, nowEpochMs: epochMs() };
      print(await signCommand({ bundle, keyFiles, ...about }, around));
    });
}

/** Parses an option value that must be a whole number, 0 or more. */
function serial(text: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("expected a whole number up to 9007199254740991");
}
