/** Requests whose bodies are files, such as pictures for a model that takes bytes. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../spec/document/input-error.ts";
import { decodeReply } from "./infer-codec.ts";
import type { InferenceClient } from "./inference-client.ts";
import { firstModel } from "./model-metadata.ts";
import type { Workload } from "./workload.ts";

/**
 * Sends the files of a folder by name, repeatedly, as raw bytes of the only input.
 * @throws InputError for a folder without files, RuntimeError for a server without models.
 */
export async function openBodyWorkload(client: InferenceClient, folder: string): Promise<Workload> {
  const bodies = await readBodies(folder);
  const model = await firstModel(client);
  const request = {
    path: `/v2/models/${encodeURIComponent(model)}/infer`,
    headers: { "inference-header-content-length": "0" },
    classIndex: 0,
    judge: ({ headers, body }: Parameters<ReturnType<Workload["request"]>["judge"]>[0]) => {
      const headerLength = headers["inference-header-content-length"]?.toString();
      const { variant, accuracy } = decodeReply(body, headerLength, false);
      return { variant, accuracy, score: null };
    },
  };
  return {
    model,
    classes: [],
    request: (index) => {
      const body = bodies[index % bodies.length] ?? new Uint8Array();
      return { ...request, body };
    },
  };
}

async function readBodies(folder: string): Promise<Uint8Array[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      const found = `but it cannot be read (${error.code})`;
      throw new InputError("INPUT_UNREADABLE", `${folder}: expected a readable folder, ${found}`);
    },
  );
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  if (files.length === 0) {
    const message = `${folder}: expected files with request bodies, got none`;
    throw new InputError("INPUT_INVALID_VALUE", message);
  }
  return Promise.all(files.sort().map((name) => readFile(join(folder, name))));
}
