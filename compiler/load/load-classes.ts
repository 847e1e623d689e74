/** Query classes that a served model states, for load with classes. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import * as z from "zod";
import type { InferenceClient } from "./inference-client.ts";

export interface LoadClass {
  readonly name: string;
  readonly share: number;
  readonly latencyMs: number;
}

const configSchema = z.object({
  parameters: z.object({ slo_classes: z.object({ string_value: z.string() }) }),
});
const classesSchema = z.array(
  z.object({ name: z.string(), latencyMs: z.number().positive(), share: z.number().positive() }),
);

/**
 * Returns the classes to send: one with the whole load, or all by their shares.
 * @param asked name of a class; null for all. @throws RuntimeError if the server has no such class.
 */
export async function readLoadClasses(
  client: InferenceClient,
  model: string,
  asked: string | null,
): Promise<LoadClass[]> {
  const stated = await statedClasses(client, model);
  if (asked === null && stated.length > 0) return stated;
  const one = stated.find(({ name }) => name === asked);
  if (one !== undefined) return [{ ...one, share: 1 }];
  const names = stated.map(({ name }) => name).join(", ");
  const found = names === "" ? "a model with one SLO for all requests" : names;
  const expected = asked === null ? "classes" : `a class "${asked}"`;
  throw new RuntimeError("RUNTIME_UNREADABLE", `${model}: expected ${expected}, got ${found}`);
}

async function statedClasses(client: InferenceClient, model: string): Promise<LoadClass[]> {
  const path = `/v2/models/${encodeURIComponent(model)}/config`;
  const { status, body } = await client.send(path, null);
  if (status !== 200) return [];
  try {
    const config = configSchema.safeParse(JSON.parse(body.toString()));
    if (!config.success) return [];
    return classesSchema.parse(JSON.parse(config.data.parameters.slo_classes.string_value));
  } catch {
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected JSON, got something else`);
  }
}
