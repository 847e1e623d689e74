/** Reasons why a bundle is refused, in the order a reader checks. Source: docs/bundle-format.md. */
export const BUNDLE_ERRORS = {
  BUNDLE_TOO_LARGE: "the file is larger than the cap and was not read",
  BUNDLE_MAGIC: "the file does not begin as a policy bundle does",
  BUNDLE_VERSION: "the file has a format version that this build does not read",
  BUNDLE_LENGTH: "the file is shorter or longer than its header says",
  BUNDLE_CHECKSUM: "the payload does not match its SHA-256",
  BUNDLE_SCHEMA: "the payload is not msgpack of the documented shape",
  BUNDLE_SEMANTICS: "the payload has the right shape but contradicts itself",
} as const;

export type BundleErrorCode = keyof typeof BUNDLE_ERRORS;

/** A bundle was refused; nothing of it is used. */
export class BundleError extends Error {
  readonly code: BundleErrorCode;

  constructor(code: BundleErrorCode, message: string) {
    super(message);
    this.name = "BundleError";
    this.code = code;
  }
}
