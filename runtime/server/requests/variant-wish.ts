/** Request parameter that selects a variant, and the output that names the one that answered. */
import { BadRequest } from "../tensors/bad-request.ts";
import type { ClientSignature, ModelTensor } from "../tensors/signature.ts";

/** Index of the variant that must answer every row, or "same" if one must answer all of them. */
export type VariantWish = number | "same";

/** Optional output of every model with one task: the variant of each row. */
export const VARIANT_OUTPUT: ModelTensor = {
  name: "stratagem_variant",
  datatype: "BYTES",
  rowShape: [],
};

/** @throws BadRequest for a variant that the model does not have, or a choice it does not leave. */
export function variantWishOf(
  parameters: Readonly<Record<string, unknown>>,
  { variants, answersByRow }: ClientSignature,
): VariantWish | undefined {
  const { variant, same_variant: same } = parameters;
  if (same !== undefined && typeof same !== "boolean") {
    throw new BadRequest("parameters.same_variant", "expected true or false", same);
  }
  if (variant === undefined && same !== true) return undefined;
  // A single variant always answers; if a row passes several, none of them answers it alone.
  if (answersByRow !== true && variants.length !== 1) {
    const [name, value] =
      variant === undefined ? ["same_variant", same] : (["variant", variant] as const);
    const expected = "expected nothing: several variants answer a row of a pipeline";
    throw new BadRequest(`parameters.${name}`, expected, value);
  }
  if (variant === undefined) return "same";
  const index = variants.findIndex(({ name }) => name === variant);
  if (index >= 0) return index;
  const names = variants.map(({ name }) => `"${name}"`).join(" or ");
  throw new BadRequest("parameters.variant", `expected ${names}`, variant);
}

/** Names as the elements of a tensor of type BYTES. */
export function bytesOfNames(names: readonly string[]): Uint8Array {
  return Buffer.concat(
    names.flatMap((name) => {
      const text = Buffer.from(name);
      const length = Buffer.alloc(4);
      length.writeUInt32LE(text.length);
      return [length, text];
    }),
  );
}
