/** Shell commands that turn a spec into a server. */
import { dirname, relative, resolve } from "node:path";
import type { ModelFile } from "stratagem-runtime/internal/bundle/schema";
import type { ReadModel } from "./read-model.ts";
import type { InitSpec } from "./spec-text.ts";
import type { SuggestedUse } from "./suggested-use.ts";

/** Returns the commands to serve the spec and send one request. */
export function nextCommands(out: string, spec: InitSpec, models: readonly ReadModel[]): string[] {
  const bundle = `${out.replace(/\.[^./\\]*$/, "")}.msgpack`;
  const profile = resolve(dirname(out), spec.profile);
  const shown = relative(process.cwd(), profile) || spec.profile;
  const folders = [...new Set(models.map(({ path }) => dirname(resolve(path))))];
  const paths = models.map(({ path }) => quoted(path)).join(" ");
  const own = quoted(`${out.replace(/\.[^./\\]*$/, "")}-models`);
  const isOne = folders.length === 1;
  const gather = isOne ? "" : `mkdir -p ${own} && cp ${paths} ${own} && `;
  const folder = isOne ? quoted(dirname(models[0]?.path ?? ".")) : own;
  return [
    `npx stratagem profile ${quoted(out)} -o ${quoted(shown)}`,
    `npx stratagem compile ${quoted(out)} -o ${quoted(bundle)}`,
    `${gather}npx stratagem serve --policy ${quoted(bundle)} --models ${folder}`,
    requestCommand(spec, models[0]?.model, models[0]?.use),
  ];
}

const DATATYPES: Readonly<Record<string, string>> = {
  float32: "FP32",
  float64: "FP64",
  float16: "FP16",
  string: "BYTES",
};

function requestCommand(
  { application }: InitSpec,
  model: ModelFile | undefined,
  use: SuggestedUse | undefined,
): string {
  const state = Object.values(use?.state ?? {});
  const inputs = (model?.inputs ?? []).filter(({ name }) => !state.includes(name));
  const tensors = inputs.map(({ name, dtype, shape }, index) => {
    const sizes = [1, ...shape.slice(1).map((size, axis) => sizeIn(model, index, axis + 1, size))];
    const count = sizes.reduce((product, size) => product * size, 1);
    const datatype = DATATYPES[dtype] ?? dtype.toUpperCase();
    const zero = datatype === "BYTES" ? '"0"' : "0";
    const info = `name: ${JSON.stringify(name)}, datatype: "${datatype}"`;
    return `{${info}, shape: [${sizes.join(", ")}], data: Array(${count}).fill(${zero})}`;
  });
  const sequence = state.length === 0 ? "" : ", parameters: {sequence_id: 1, sequence_start: true}";
  const script = `JSON.stringify({inputs: [${tensors.join(", ")}]${sequence}})`;
  const url = `http://127.0.0.1:8000/v2/models/${encodeURIComponent(application)}/infer`;
  return `node -p ${quoted(script)} | curl -s ${url} -d @-`;
}

function sizeIn(model: ModelFile | undefined, input: number, axis: number, size: number): number {
  if (size > 0) return size;
  const bucket = model?.buckets?.find(({ inputs }) =>
    inputs.some((place) => place.input === input && place.axis === axis),
  );
  return bucket?.sizes[0] ?? 1;
}

/** Quotes text for a shell; plain words are kept. */
/** Quotes a word for a shell if it needs that. */
export function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
