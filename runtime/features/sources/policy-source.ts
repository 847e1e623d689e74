/** What the server asks of a place that bundles come from, whatever its protocol. */
import type { ShippedPart } from "../../bundles/shipping/parts.ts";

/** What a place has now. Of it nothing is believed before it was checked. */
export interface Found {
  /** By which the place knows it again, such as an ETag; null where it has no such thing. */
  readonly validator: string | null;
  readonly bundle: Uint8Array;
  /** The signature beside it, if there is one. */
  readonly envelope: Uint8Array | null;
  /** The provenance beside it, if there is one. */
  readonly provenance: Uint8Array | null;
  /**
   * Writes a file that the bundle names, from where an attempt before has left it.
   * @param path of what is there of it; whoever calls compares its digest.
   * @returns bytes that came over the net.
   * @throws AwayError, and the signal's reason.
   */
  fetch(part: ShippedPart, path: string, signal: AbortSignal): Promise<number>;
}

export interface PolicySource {
  /** As it may be told. */
  readonly name: string;
  /**
   * Asks what there is.
   * @param validator of what was found last; null for none.
   * @returns null where it is that still.
   * @throws AwayError where it is away or has nothing, and the signal's reason.
   */
  look(validator: string | null, signal: AbortSignal): Promise<Found | null>;
}

/** Of a file that a bundle names: what ONNX files have at most. */
export const MAX_PART_BYTES = 2 ** 31;
