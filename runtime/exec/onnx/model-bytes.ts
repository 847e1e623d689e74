/** Reads the bytes of a model for onnxruntime and checks that they are the promised ones. */
import { createHash } from "node:crypto";
import { inheritedModel, wholeModel } from "../files/whole-model.ts";
import type { VariantFile } from "../models/executor.ts";

/**
 * Reads a whole model from its open files, else from its path.
 * @throws Error if the content changed since it was checked, or if it cannot be read.
 */
export async function modelBytes({ path, opened }: VariantFile): Promise<Uint8Array> {
  if (opened === undefined) return wholeModel(path);
  const { fd, sha256, data = [] } = opened;
  const bytes = await inheritedModel(fd, data);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found === sha256) return bytes;
  throw new Error(
    `${["the file", ...data.map(({ location }) => location)].join(" or ")} changed while it was ` +
      `served: expected SHA-256 ${sha256}, got ${found}; restore the old content, or restart`,
  );
}
