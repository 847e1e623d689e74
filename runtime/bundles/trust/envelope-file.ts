/** Envelopes in files beside bundles. */
import { RuntimeError } from "../../base/errors.ts";
import { NotAFileError, readRegularFile } from "../../base/regular-file.ts";
import { MAX_ENVELOPE_BYTES } from "./envelope.ts";

/**
 * Returns null if the file does not exist. @throws RuntimeError RUNTIME_SIGNATURE if it is too
 * large, RUNTIME_UNREADABLE.
 */
export async function readEnvelopeFile(path: string): Promise<Uint8Array | null> {
  try {
    const { bytes, isTooLarge } = await readRegularFile(path, MAX_ENVELOPE_BYTES);
    if (!isTooLarge) return bytes;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    const reason = error instanceof NotAFileError ? message : (code ?? message);
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected a file, got: ${reason}`);
  }
  const message = `${path}: expected at most ${MAX_ENVELOPE_BYTES} bytes, got more`;
  throw new RuntimeError("RUNTIME_SIGNATURE", message);
}
