/** Reads the input metadata of a model from the server under test. */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { fixedElementBytes } from "stratagem-runtime/internal/server/tensors/tensors";
import type { LoadModel, LoadTensor } from "./infer-codec.ts";
import { failureCode, type HttpReply, type InferenceClient } from "./inference-client.ts";

/**
 * Reads the model's inputs.
 * @param name null for the first that the server lists.
 * @throws RuntimeError if the metadata is missing.
 */
export async function readLoadModel(
  client: InferenceClient,
  name: string | null,
): Promise<LoadModel> {
  const model = name ?? (await firstModel(client));
  const path = `/v2/models/${encodeURIComponent(model)}`;
  const metadata = fieldsOf(await ask(client, path, null));
  const tensors = metadata?.["inputs"];
  if (!Array.isArray(tensors) || tensors.length === 0) {
    throw refusal(path, "metadata with inputs", "none");
  }
  const inputs = tensors.map((tensor) => inputOf(tensor, path));
  return { name: model, inputs, rowBytes: inputs.reduce((sum, input) => sum + input.rowBytes, 0) };
}

/** Returns the first model that a server lists. @throws RuntimeError for an empty list. */
export async function firstModel(client: InferenceClient): Promise<string> {
  const path = "/v2/repository/index";
  const index = await ask(client, path, Buffer.from("{}"));
  const name = Array.isArray(index) ? fieldsOf(index[0])?.["name"] : undefined;
  if (typeof name === "string") return name;
  throw refusal(path, "a list of models; name one with --model", "none");
}

async function ask(client: InferenceClient, path: string, body: Buffer | null): Promise<unknown> {
  const reply = await client.send(path, body).catch((error: unknown) => failureCode(error));
  if (typeof reply === "string") throw refusal(path, "a server that answers", reply);
  if (reply.status !== 200) throw refusal(path, "status 200", `${reply.status}${reason(reply)}`);
  try {
    return JSON.parse(reply.body.toString());
  } catch {
    throw refusal(path, "JSON", "something else");
  }
}

function inputOf(value: unknown, path: string): LoadTensor {
  const { name, datatype, shape } = fieldsOf(value) ?? {};
  if (typeof name !== "string" || typeof datatype !== "string" || !Array.isArray(shape)) {
    throw refusal(path, "inputs with name, datatype and shape", "others");
  }
  const rowShape = shape.slice(1).map(Number);
  const bytes = fixedElementBytes(datatype);
  if (bytes === null) throw refusal(path, `a type of fixed size for input "${name}"`, datatype);
  if (!rowShape.every((size) => Number.isSafeInteger(size) && size > 0)) {
    const expected = `input "${name}" with only its row axis open`;
    throw refusal(path, expected, `shape [${shape.join(", ")}]`);
  }
  const rowBytes = rowShape.reduce((product, size) => product * size, bytes);
  return { name, datatype, rowShape, rowBytes };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)
    : null;
}

const MAX_REASON_LENGTH = 200;

function reason({ body }: HttpReply): string {
  const text = body.toString("utf8", 0, MAX_REASON_LENGTH).replace(/\s+/g, " ");
  return text === "" ? "" : ` (${text})`;
}

function refusal(path: string, expected: string, found: string): RuntimeError {
  return new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected ${expected}, got ${found}`);
}
