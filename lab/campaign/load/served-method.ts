/** The committed policies, one of each method, and requests for them. */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { encodeRequestHeader, type LoadModel } from "stratagem/internal/load/infer-codec";
import { drawQueries } from "stratagem/internal/methods/accordion/simulate/queries";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { openBundle, stratagem } from "../../experiments/harness/cli.ts";
import { present } from "../../experiments/harness/numbers.ts";
import { drawImages, IMAGE_BYTES } from "../../models/image-classification/dataset.ts";
import { drawScenes, SCENE_BYTES } from "../../models/scenes/dataset.ts";

export interface ServedMethod {
  readonly method: Bundle["method"];
  /** As tables call it. */
  readonly name: string;
  readonly policy: string;
  readonly models: string;
  /** Where a search for its capacity begins, requests/s. */
  readonly firstQps: number;
  /** What its policy is compiled of; left out where the committed one is served. */
  readonly spec?: string;
}

/** With the policy that is served, which may have to be compiled. @param folder for that. */
export async function withPolicy(served: ServedMethod, folder: string): Promise<ServedMethod> {
  if (served.spec === undefined) return served;
  const policy = join(folder, "policy.msgpack");
  await stratagem("compile", served.spec, "-o", policy);
  return { ...served, policy };
}

export const SERVED_METHODS: readonly ServedMethod[] = [
  of("ramsis", "policies/letters", "models/image-classification", 250),
  {
    ...of("ramsis", "policies/letters", "models/image-classification", 100),
    name: "ramsis of large models",
    spec: "lab/campaign/load/letters-large.yaml",
  },
  of("loki", "policies/scenes", "models/scenes", 30),
  of("inferline", "policies/cascade", "models/cascade", 60),
  of("themis", "policies/scaling", "models/scaling", 15),
  of("accordion", "policies/malleable", "policies/malleable", 2),
];

/** Whether CAMPAIGN_METHODS, names with commas between, has its name; without it all are. */
export function isChosen({ name }: { readonly name: string }): boolean {
  const names = (process.env["CAMPAIGN_METHODS"] ?? "").split(",").filter(Boolean);
  return names.length === 0 || names.includes(name);
}

export function chosenMethods(): readonly ServedMethod[] {
  return SERVED_METHODS.filter(isChosen);
}

/** Waits for the workers of a server. @returns the status of each asking. */
export async function untilReady(url: string): Promise<number[]> {
  const statuses: number[] = [];
  while (statuses.at(-1) !== 200) {
    if (statuses.length > 0) await pause(100);
    statuses.push((await fetch(`${url}/v2/health/ready`)).status);
  }
  return statuses;
}

/** Different requests of a load. */
const MESSAGES = 200;
const SEED = 7;

function of(
  method: Bundle["method"],
  folder: string,
  models: string,
  firstQps: number,
): ServedMethod {
  return { method, name: method, policy: `${folder}/bundle.msgpack`, models, firstQps };
}

export interface Requests {
  readonly sloMs: number;
  /** Whole HTTP requests. */
  readonly messages: readonly Uint8Array[];
}

/** Requests as a policy expects them: one row, or of malleable pipelines what is drawn for it. */
export async function requestsOf({ method, policy }: ServedMethod): Promise<Requests> {
  const bundle = await openBundle(method, policy);
  const sloMs = bundle.slo.latencyMs;
  if (bundle.method === "accordion") {
    const queries = drawQueries(bundle, { kind: "poisson", qps: 1000 }, MESSAGES, SEED);
    const { variants } = present(bundle.tasks[0]);
    const messages = [...queries.arrivalMs.keys()].map((query) => {
      const { name, model } = present(variants[queries.model[query] ?? 0]);
      const rows = queries.batch[query] ?? 1;
      const priority = queries.isHigh[query] === 1 ? 1 : 2;
      return messageOf(loadModel(name, model), query, rows, { priority });
    });
    return { sloMs, messages };
  }
  const { model } = present(present(bundle.tasks[0]).variants[0]);
  const load = loadModel(bundle.application, model);
  return { sloMs, messages: Array.from({ length: MESSAGES }, (_, at) => messageOf(load, at)) };
}

interface ModelTensors {
  readonly inputs: readonly { readonly name: string; readonly shape: readonly number[] }[];
}

function loadModel(name: string, model: ModelTensors | null | undefined): LoadModel {
  const inputs = present(model ?? undefined, "a model").inputs.map((input) => {
    const rowShape = input.shape.slice(1);
    const rowBytes = rowShape.reduce((size, axis) => size * axis, 1);
    return { name: input.name, datatype: "UINT8", rowShape, rowBytes };
  });
  return { name, inputs, rowBytes: inputs.reduce((sum, { rowBytes }) => sum + rowBytes, 0) };
}

/** One request, from its line to the last byte of its tensors. */
function messageOf(
  model: LoadModel,
  seed: number,
  rows = 1,
  more: Readonly<Record<string, number>> = {},
): Uint8Array {
  const header = JSON.parse(encodeRequestHeader(model).toString()) as {
    inputs: { shape: number[]; parameters: { binary_data_size: number } }[];
    parameters: object;
  };
  for (const input of header.inputs) {
    input.shape[0] = rows;
    input.parameters.binary_data_size *= rows;
  }
  const json = Buffer.from(
    JSON.stringify({ ...header, parameters: { ...header.parameters, ...more } }),
  );
  const pixels = pixelsOf(model.rowBytes, seed, rows);
  const lines = [
    `POST /v2/models/${model.name}/infer HTTP/1.1`,
    "host: localhost",
    "content-type: application/octet-stream",
    `inference-header-content-length: ${json.length}`,
    `content-length: ${json.length + pixels.length}`,
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), json, pixels]);
}

function pixelsOf(rowBytes: number, seed: number, rows: number): Uint8Array {
  if (rowBytes === IMAGE_BYTES) return drawImages(seed, rows).pixels;
  if (rowBytes === SCENE_BYTES) return drawScenes(seed, rows).pixels;
  throw new Error(`no rows of ${rowBytes} bytes are drawn`);
}
