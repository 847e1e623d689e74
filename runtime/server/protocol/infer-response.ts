/** What a response is, and what it says beside its outputs. */

export interface InferResponse {
  readonly headers: Readonly<Record<string, string | number>>;
  /** JSON, then the binary outputs. */
  readonly parts: readonly Uint8Array[];
}

/** What an answer says beside its outputs. */
export interface ResponseHead {
  readonly modelName: string;
  /** Of the request; null where all have the same SLO. */
  readonly sloClass: string | null;
  /** Sizes that the inputs were padded to; left out of models without such axes. */
  readonly bucket?: string | undefined;
  /** Of the bundle that answers, where that is one of two; left out where there is one. */
  readonly revision?: string | undefined;
  /** Whether its parameters are all texts. */
  readonly hasTextParameters: boolean;
}
