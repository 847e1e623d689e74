/** Interface of a source of bundles, independent of its protocol. */
import type { ShippedPart } from "../../bundles/shipping/parts.ts";

/** Current content of a source; not yet verified. */
export interface Found {
  /** Identifies the version, such as an ETag; null if the source has none. */
  readonly validator: string | null;
  readonly bundle: Uint8Array;
  /** Signature of the bundle, if any. */
  readonly envelope: Uint8Array | null;
  /** Provenance of the bundle, if any. */
  readonly provenance: Uint8Array | null;
  /**
   * Downloads a file that the bundle names, resuming an earlier attempt.
   * @param path of the partial file; the caller checks its digest.
   * @returns bytes received.
   * @throws AwayError, and the signal's reason.
   */
  fetch(part: ShippedPart, path: string, signal: AbortSignal): Promise<number>;
}

export interface PolicySource {
  /** Name without secrets. */
  readonly name: string;
  /**
   * Polls the source.
   * @param validator of the last version found; null for none.
   * @returns null if unchanged.
   * @throws AwayError if unreachable or empty, and the signal's reason.
   */
  look(validator: string | null, signal: AbortSignal): Promise<Found | null>;
}

/** Limit of a file that a bundle names, the maximum of ONNX files. */
export const MAX_PART_BYTES = 2 ** 31;
