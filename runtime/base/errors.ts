/** Lists the errors of the commands and their exit codes. */
import { BUNDLE_ERRORS, BundleError, type BundleErrorCode } from "./bundle-error.ts";

/** Exit codes of every command. */
export const EXIT_CODES = {
  ok: 0,
  internal: 1,
  different: 2,
  notVerified: 3,
  usage: 64,
  badInput: 65,
} as const;

/** Errors other than those of a refused bundle. */
const COMMAND_ERRORS = {
  RUNTIME_USAGE: "a command line option is unknown or has an invalid value",
  RUNTIME_CONFIG: "the settings file has an unknown setting, or an invalid value",
  RUNTIME_UNREADABLE: "a named file is missing, unreadable, or not a file",
  RUNTIME_MODEL: "a model file of the bundle is missing, or is not the one that was compiled",
  RUNTIME_ACCESS:
    "an access file (tokens, keys or certificates) cannot be used, or does not match another",
  RUNTIME_LISTEN: "the address to serve at is in use, or is not an address of this machine",
  RUNTIME_MEANS: "a command or its workers need more memory, threads or open files than there are",
  RUNTIME_DEVICE: "no worker could be started on the device, or with the models",
  RUNTIME_HARDWARE: "the bundle was measured on other hardware than its workers are to run on",
  RUNTIME_REGISTRY:
    "a registry does not answer, refuses the request, or has something other than a policy",
  RUNTIME_CREDENTIALS: "a registry requires credentials, or refuses the given ones",
  RUNTIME_DIGEST: "content does not match its digest; nothing of it is used",
  RUNTIME_UNWRITABLE: "a file or folder cannot be written; previous content is unchanged",
  RUNTIME_KEY: "a key file holds no key, or a key of another kind",
  RUNTIME_SERIALS: "the folder with the serials of accepted bundles cannot be read or written",
  RUNTIME_UNSIGNED: "a signature is required, and the bundle has none",
  RUNTIME_SIGNATURE: "the signature is malformed, was changed, or belongs to another bundle",
  RUNTIME_WRONG_KEY: "the bundle is not signed with any of the trusted keys",
  RUNTIME_EXPIRED: "the signature of the bundle has expired",
  RUNTIME_SCOPE: "the bundle is signed for sites with other labels",
  RUNTIME_ROLLBACK: "the bundle is older than one that this site has used",
  RUNTIME_SOURCE: "a source of bundles is unreachable, or has something other than expected",
  RUNTIME_STORE: "the folder that stores the bundles of sources cannot be used",
  RUNTIME_INTERNAL: "a bug of the program, such as an end with work pending",
  RUNTIME_CLUSTER: "the NATS server of the cluster does not answer, or refuses the credentials",
} as const;

/** Every error of the runtime that is not a bug. */
export const RUNTIME_ERRORS = { ...BUNDLE_ERRORS, ...COMMAND_ERRORS } as const;

type CommandErrorCode = keyof typeof COMMAND_ERRORS;
export type RuntimeErrorCode = BundleErrorCode | CommandErrorCode;

/**
 * Exit code by error code. `verify` reports a refused bundle as its result instead, with
 * `notVerified`.
 */
export const EXIT_CODE_BY_ERROR: Readonly<Record<RuntimeErrorCode, number>> = {
  BUNDLE_TOO_LARGE: EXIT_CODES.badInput,
  BUNDLE_MAGIC: EXIT_CODES.badInput,
  BUNDLE_VERSION: EXIT_CODES.badInput,
  BUNDLE_LENGTH: EXIT_CODES.badInput,
  BUNDLE_CHECKSUM: EXIT_CODES.badInput,
  BUNDLE_SCHEMA: EXIT_CODES.badInput,
  BUNDLE_SEMANTICS: EXIT_CODES.badInput,
  RUNTIME_USAGE: EXIT_CODES.usage,
  RUNTIME_CONFIG: EXIT_CODES.badInput,
  RUNTIME_UNREADABLE: EXIT_CODES.badInput,
  RUNTIME_MODEL: EXIT_CODES.badInput,
  RUNTIME_ACCESS: EXIT_CODES.badInput,
  RUNTIME_LISTEN: EXIT_CODES.badInput,
  RUNTIME_MEANS: EXIT_CODES.badInput,
  RUNTIME_DEVICE: EXIT_CODES.badInput,
  RUNTIME_HARDWARE: EXIT_CODES.badInput,
  RUNTIME_REGISTRY: EXIT_CODES.badInput,
  RUNTIME_CREDENTIALS: EXIT_CODES.badInput,
  RUNTIME_DIGEST: EXIT_CODES.badInput,
  RUNTIME_UNWRITABLE: EXIT_CODES.badInput,
  RUNTIME_KEY: EXIT_CODES.badInput,
  RUNTIME_SERIALS: EXIT_CODES.badInput,
  RUNTIME_UNSIGNED: EXIT_CODES.notVerified,
  RUNTIME_SIGNATURE: EXIT_CODES.notVerified,
  RUNTIME_WRONG_KEY: EXIT_CODES.notVerified,
  RUNTIME_EXPIRED: EXIT_CODES.notVerified,
  RUNTIME_SCOPE: EXIT_CODES.notVerified,
  RUNTIME_ROLLBACK: EXIT_CODES.notVerified,
  RUNTIME_SOURCE: EXIT_CODES.badInput,
  RUNTIME_STORE: EXIT_CODES.badInput,
  RUNTIME_INTERNAL: EXIT_CODES.internal,
  RUNTIME_CLUSTER: EXIT_CODES.badInput,
};

/**
 * Bad input to a command. The message says where, what was found and what is allowed, on one line.
 */
export class RuntimeError extends Error {
  readonly code: CommandErrorCode;

  constructor(code: CommandErrorCode, message: string) {
    super(message);
    this.name = "RuntimeError";
    this.code = code;
  }
}

export function isRuntimeError(error: unknown): error is BundleError | RuntimeError {
  return error instanceof BundleError || error instanceof RuntimeError;
}

const SHORTAGES = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"]);

/** Whether a call failed for lack of descriptors, processes or memory. */
export function isShortage(error: unknown): error is Error {
  return error instanceof Error && "code" in error && SHORTAGES.has(String(error.code));
}
