/** Load on a model that keeps state: each query begins a sequence of its own, and ends it. */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import type { InferenceClient } from "./inference-client.ts";

const configSchema = z.object({ sequence_batching: z.record(z.string(), z.unknown()) });

/** Whether requests for a model have to name sequences. */
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

/** Ids of sequences that are all as long, and nobody else's. */
export class SequenceIds {
  readonly #prefix = `bench-${randomUUID()}-`;
  #count = 0;

  /** To be written into headers; the next one takes its place in each. */
  readonly first = `${this.#prefix}${"0".repeat(DIGITS)}`;

  /** A copy of a header that names `first`, with an id that none before has named. */
  next(header: Buffer): Buffer {
    this.#count++;
    const copy = Buffer.from(header);
    const at = copy.indexOf(this.#prefix) + this.#prefix.length;
    copy.write(String(this.#count).padStart(DIGITS, "0"), at);
    return copy;
  }
}
