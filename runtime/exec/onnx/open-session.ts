/**
 * Opens an ONNX file as a session, and again with a session that requires every node on the device.
 */

import { modelBytes } from "../files/whole-model.ts";
import type { VariantFile } from "../models/executor.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { type InferenceSession, InferenceSession as Sessions } from "../tensors/onnxruntime.ts";
import { PlacesProfile } from "./node-places.ts";
import { LOG_LEVELS, sessionOptions } from "./session-options.ts";

export interface OpenedSession {
  readonly session: InferenceSession;
  /** Profile of its first run; null on processors, or if nothing can be written. */
  readonly profile: PlacesProfile | null;
  /** @throws Error if the provider would leave nodes to the processor. */
  readonly openStrictly: () => Promise<InferenceSession>;
}

/**
 * @param cores threads of the session, fixed for its life. @param own options besides those of all
 * sessions. @throws Error if the file or the device cannot be used.
 */
export async function openSession(
  file: VariantFile,
  setup: WorkerSetup,
  cores: number,
  own: InferenceSession.SessionOptions = {},
): Promise<OpenedSession> {
  const profile = setup.on.provider === "cpu" ? null : PlacesProfile.begin(setup.scratch);
  try {
    const bytes = await modelBytes(file);
    const options = { ...sessionOptions(setup, cores, bytes), ...own, ...profile?.options };
    const session = await Sessions.create(bytes, options);
    return { session, profile, openStrictly: () => openStrictly(file, setup, cores) };
  } catch (error) {
    profile?.remove();
    throw error;
  }
}

async function openStrictly(file: VariantFile, setup: WorkerSetup, cores: number) {
  const bytes = await modelBytes(file);
  const options = sessionOptions(setup, cores, bytes, { disable_cpu_ep_fallback: "1" });
  return Sessions.create(bytes, { ...options, logSeverityLevel: LOG_LEVELS.fatal });
}
