/** Reads the input metadata of a server's model. */

import { fixedElementBytes } from "stratagem-runtime/internal/server/tensors/tensors";
import * as z from "zod";
import type { InferenceClient } from "../../load/inference-client.ts";
import { wantsSequences } from "../../load/load-sequences.ts";
import { InputError } from "../../spec/document/input-error.ts";

export interface ServedTensor {
  readonly name: string;
  /** Name in the protocol, such as FP32. */
  readonly datatype: string;
  /** Shape of one row, without axis 0. */
  readonly rowShape: readonly number[];
  /** Null if elements have variable length. */
  readonly rowBytes: number | null;
}

export interface ServedModel {
  readonly name: string;
  readonly inputs: readonly ServedTensor[];
  /** True if requests must name sequences. */
  readonly wantsSequences: boolean;
}

/** Returns the row shape of an input with open axes, by name; null if unknown. */
export type ShapeOf = (input: string) => readonly number[] | null;

const indexSchema = z.array(z.object({ name: z.string() }));
const tensorSchema = z.object({
  name: z.string(),
  datatype: z.string(),
  shape: z.array(z.union([z.number(), z.string()]).transform(Number)),
});
const metadataSchema = z.object({ inputs: z.array(tensorSchema) });

/** Reads the first model that the server lists. @throws InputError if it has no input metadata. */
export async function readServedModel(
  client: InferenceClient,
  shapeOf: ShapeOf,
): Promise<ServedModel> {
  const index = indexSchema.parse(await ask(client, "/v2/repository/index", Buffer.from("{}")));
  const name = index[0]?.name;
  if (name === undefined) throw unlike("a server with a model", "none");
  const path = `/v2/models/${encodeURIComponent(name)}`;
  const { inputs } = metadataSchema.parse(await ask(client, path, null));
  return {
    name,
    inputs: inputs.map(({ name: input, datatype, shape }) => {
      const own = shape.slice(1);
      const rowShape = own.some((size) => size < 0) ? (shapeOf(input) ?? own) : own;
      if (rowShape.some((size) => size < 0)) {
        throw unlike(`sizes for input "${input}"`, `shape [${shape.join(", ")}]`);
      }
      const element = fixedElementBytes(datatype);
      const rowBytes =
        element === null ? null : rowShape.reduce((product, size) => product * size, element);
      return { name: input, datatype, rowShape, rowBytes };
    }),
    wantsSequences: await wantsSequences(client, name),
  };
}

async function ask(client: InferenceClient, path: string, body: Buffer | null): Promise<unknown> {
  const reply = await client.send(path, body);
  if (reply.status !== 200) throw unlike(`status 200 of ${path}`, String(reply.status));
  return JSON.parse(reply.body.toString());
}

function unlike(expected: string, found: string): InputError {
  return new InputError("INPUT_CONFLICT", `expected ${expected}, got ${found}`);
}
