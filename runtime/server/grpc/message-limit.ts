/** How large a message may be, by what the shapes of the models can need. */
import type { HostedModel } from "../applications/hosted-model.ts";
import { HEADER_BYTES } from "../bodies/body-limits.ts";
import { DATATYPES, type Datatype, elementCountOf } from "../tensors/datatypes.ts";
import { largestRowShape } from "../tensors/padding.ts";

/** Of an integer as a varint, which a negative one of 32 bits takes as well. */
const LONGEST_VARINT_BYTES = 10;

/** Bytes of the largest request that any of the models takes; nothing is above `maxBodyBytes`. */
export function messageLimit(models: readonly HostedModel[], maxBodyBytes: number): number {
  const needed = models.map(({ model, maxRows }) => {
    const bytes = model.signature.inputs.map((tensor) => {
      return maxRows * elementCountOf(largestRowShape(tensor)) * elementBytes(tensor.datatype);
    });
    return bytes.reduce((sum, one) => sum + one, HEADER_BYTES);
  });
  return Math.min(maxBodyBytes, Math.max(...needed));
}

function elementBytes(datatype: Datatype): number {
  const { elementBytes: plain } = DATATYPES[datatype];
  if (datatype === "BYTES") return Number.POSITIVE_INFINITY;
  return /^U?INT/.test(datatype) ? LONGEST_VARINT_BYTES : plain;
}
