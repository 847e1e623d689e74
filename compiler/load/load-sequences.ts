/** Load on a model with state: each query begins and ends its own sequence. */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import type { InferenceClient } from "./inference-client.ts";

const configSchema = z.object({ sequence_batching: z.record(z.string(), z.unknown()) });

/** Returns whether requests for a model must name sequences. */
export async function wantsSequences(client: InferenceClient, model: string): Promise<boolean> {
  const path = `/v2/models/${encodeURIComponent(model)}/config`;
  const reply = await client.send(path, null).catch(() => null);
  if (reply?.status !== 200) return false;
  try {
    return configSchema.safeParse(JSON.parse(reply.body.toString())).success;
  } catch {
    return false;
  }
}

const DIGITS = 12;

/** Generates unique sequence ids of equal length. */
export class SequenceIds {
  readonly #prefix = `bench-${randomUUID()}-`;
  #count = 0;

  /** Placeholder in headers, which `next` replaces. */
  readonly first = `${this.#prefix}${"0".repeat(DIGITS)}`;

  /** Copies a header with `first`, inserting a new id. */
  next(header: Buffer): Buffer {
    this.#count++;
    const copy = Buffer.from(header);
    const at = copy.indexOf(this.#prefix) + this.#prefix.length;
    copy.write(String(this.#count).padStart(DIGITS, "0"), at);
    return copy;
  }
}
