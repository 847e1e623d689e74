/**
 * Heads of answers that come again: as long as clients ask for the same, nothing of an answer
 * changes but its binary data.
 */
import type { Answer } from "../requests/request.ts";
import { lengthOf } from "../tensors/parts.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import type { InferResponse, ResponseHead } from "./infer-response.ts";
import type { InferRequest } from "./protocol.ts";

/** All of an answer but its binary data. */
export interface WrittenHead {
  readonly headers: InferResponse["headers"];
  readonly json: Uint8Array;
}

/** And what it was made of. */
interface KnownHead extends WrittenHead, Pick<ResponseHead, "modelName" | "sloClass" | "revision"> {
  readonly answerer: Answer["answerer"];
  readonly variantByRow: readonly number[];
  readonly described: readonly { readonly shape: readonly number[]; readonly bytes: number }[];
}

/** Of the last answer to requests of one JSON header, which share their outputs. */
const knownHeads = new WeakMap<InferRequest["outputs"], KnownHead>();

/** @returns undefined where the answer needs a head of its own. */
export function knownHead(
  { modelName, sloClass, revision }: ResponseHead,
  request: InferRequest,
  answer: Answer,
): WrittenHead | undefined {
  const known = request.id === undefined ? knownHeads.get(request.outputs) : undefined;
  if (known === undefined) return undefined;
  const { answerer, variantByRow = [], outputs } = answer;
  if (known.modelName !== modelName || known.sloClass !== sloClass) return undefined;
  if (known.revision !== revision) return undefined;
  if (known.answerer.variant !== answerer.variant) return undefined;
  if (known.answerer.accuracy !== answerer.accuracy) return undefined;
  if (!isSame(known.variantByRow, variantByRow)) return undefined;
  for (let position = 0; position < request.outputs.length; position++) {
    const output = outputs[request.outputs[position]?.index ?? 0];
    const { shape, bytes } = known.described[position] ?? { shape: [], bytes: 0 };
    if (output === undefined || lengthOf(output.parts) !== bytes) return undefined;
    if (!isSame(output.shape, shape)) return undefined;
  }
  return known;
}

/** Only of requests that are remembered, and ask for binary outputs of the model alone. */
export function rememberHead(
  { modelName, sloClass, revision }: ResponseHead,
  { id, outputs }: InferRequest,
  answer: Answer,
  signature: ClientSignature,
  written: WrittenHead,
): void {
  const isRepeatable =
    id === undefined &&
    Object.isFrozen(outputs) &&
    outputs.every(({ index, isBinary, classes }) => {
      return isBinary && classes === undefined && index < signature.outputs.length;
    });
  if (!isRepeatable) return;
  const described = outputs.map(({ index }) => {
    const { shape = [], parts = [] } = answer.outputs[index] ?? {};
    return { shape, bytes: lengthOf(parts) };
  });
  const { answerer, variantByRow = [] } = answer;
  const head = { modelName, sloClass, revision, answerer, variantByRow, described };
  knownHeads.set(outputs, { ...head, ...written });
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false;
  return true;
}
