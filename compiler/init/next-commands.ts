/** Shell commands that turn a spec into a server, and send it a request. */
import { isUtf8 } from "node:buffer";
import { dirname, relative, resolve } from "node:path";
import type { ModelFile } from "stratagem-runtime/internal/bundle/schema";
import { decodeStrings } from "stratagem-runtime/internal/exec/tensors/string-data";
import { quoted } from "../base/shell-words.ts";
import { profileBudgetS } from "./default-targets.ts";
import type { ReadModel } from "./read-model.ts";
import type { InitSpec } from "./spec-text.ts";

/** Commands that follow `init`. */
export interface NextCommands {
  /** Profile, compile, serve and send one request; slow models have a short profile first. */
  readonly steps: readonly string[];
  /** The same request from Python. */
  readonly python: readonly string[];
  /** File that the request sends, to be written beside the spec; null for none. */
  readonly file: SampleFile | null;
}

interface SampleFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export function nextCommands(
  out: string,
  spec: InitSpec,
  models: readonly ReadModel[],
): NextCommands {
  const files = models.filter(hasFile);
  const bundle = `${out.replace(/\.[^./\\]*$/, "")}.msgpack`;
  const profile = resolve(dirname(out), spec.profile);
  const shown = relative(process.cwd(), profile) || spec.profile;
  const folders = [...new Set(files.map(({ path }) => dirname(resolve(path))))];
  const paths = files.map(({ path }) => quoted(path)).join(" ");
  const own = quoted(`${out.replace(/\.[^./\\]*$/, "")}-models`);
  const isOne = folders.length <= 1;
  const gather = isOne ? "" : `mkdir -p ${own} && cp ${paths} ${own} && `;
  const folder = isOne ? quoted(dirname(files[0]?.path ?? ".")) : own;
  const budgetS = profileBudgetS(models);
  const budget = budgetS === null ? "" : ` --budget ${budgetS}s`;
  const sample = sampleOf(spec, models[0], `${out.replace(/\.[^./\\]*$/, "")}-sample.bin`);
  return {
    steps: [
      `npx stratagem profile ${quoted(out)} -o ${quoted(shown)}${budget}`,
      `npx stratagem compile ${quoted(out)} -o ${quoted(bundle)}`,
      `${gather}npx stratagem serve --policy ${quoted(bundle)} --models ${folder}`,
      curlOf(sample),
    ],
    python: [requestsOf(sample), tritonclientOf(sample)],
    file: sample.file,
  };
}

/** Whether a model is a file, and not a module of a package. */
function hasFile({ path, module }: ReadModel): boolean {
  return module?.name !== path;
}

const DATATYPES: Readonly<Record<string, string>> = {
  float32: "FP32",
  float64: "FP64",
  float16: "FP16",
  string: "BYTES",
};

const HOST = "127.0.0.1:8000";

/** A request of one row that the model can answer. */
interface Sample {
  readonly application: string;
  readonly inputs: readonly {
    readonly name: string;
    readonly dtype: string;
    readonly datatype: string;
    readonly shape: readonly number[];
    /** Value of every element. */
    readonly value: string;
  }[];
  /** Whether the model has a state, so that the request begins a sequence. */
  readonly isSequence: boolean;
  /** Content of the only input if it is bytes that are no text. */
  readonly file: SampleFile | null;
}

function sampleOf({ application }: InitSpec, read: ReadModel | undefined, path: string): Sample {
  const model = read?.model;
  const texts = read?.module?.sample?.map((bytes, index) => {
    return model?.inputs[index]?.dtype === "string"
      ? decodeStrings(bytes, (text) => text)[0]
      : null;
  });
  const [content] = texts ?? [];
  const file = content && texts?.length === 1 && !isUtf8(content) ? { path, bytes: content } : null;
  const state = Object.values(read?.use.state ?? {});
  const sent = (model?.inputs ?? []).filter(({ name }) => !state.includes(name));
  const inputs = sent.map(({ name, dtype, shape }, index) => ({
    name,
    dtype,
    datatype: DATATYPES[dtype] ?? dtype.toUpperCase(),
    shape: [1, ...shape.slice(1).map((size, axis) => sizeIn(model, index, axis + 1, size))],
    // A mask of zeros hides the whole input.
    value: dtype === "string" ? textOf(texts?.[index]) : /mask/i.test(name) ? "1" : "0",
  }));
  return { application, inputs, isSequence: state.length > 0, file };
}

/** Literal of a text; a digit for none, or for bytes that are no text. */
function textOf(text: Uint8Array | null | undefined): string {
  return JSON.stringify(text && isUtf8(text) ? Buffer.from(text).toString() : "0");
}

function urlOf({ application }: Sample): string {
  return `http://${HOST}/v2/models/${encodeURIComponent(application)}/infer`;
}

/** @param dataOf data in a language, of a value and how often it is there. */
function tensorsText(
  { inputs }: Sample,
  keyOf: (key: string) => string,
  dataOf: (value: string, count: number) => string,
): string {
  const tensors = inputs.map(({ name, datatype, shape, value }) => {
    const count = shape.reduce((product, size) => product * size, 1);
    const entries = [
      ["name", JSON.stringify(name)],
      ["datatype", `"${datatype}"`],
      ["shape", `[${shape.join(", ")}]`],
      ["data", dataOf(value, count)],
    ];
    return `{${entries.map(([key = "", text]) => `${keyOf(key)}: ${text}`).join(", ")}}`;
  });
  return `[${tensors.join(", ")}]`;
}

/** Header of a request whose body is the only input, without JSON before it. */
const RAW_HEADER = "Inference-Header-Content-Length";

function curlOf(sample: Sample): string {
  const { file } = sample;
  if (file !== null) {
    return `curl -s ${urlOf(sample)} -H '${RAW_HEADER}: 0' --data-binary @${quoted(file.path)}`;
  }
  const sequence = sample.isSequence ? ", parameters: {sequence_id: 1, sequence_start: true}" : "";
  const data = (value: string, count: number) => `Array(${count}).fill(${value})`;
  const tensors = tensorsText(sample, (key) => key, data);
  const script = `JSON.stringify({inputs: ${tensors}${sequence}})`;
  return `node -p ${quoted(script)} | curl -s ${urlOf(sample)} -d @-`;
}

/** Reads the sample file in Python. */
function readIn({ path }: SampleFile): string {
  return `open(${JSON.stringify(path)}, "rb").read()`;
}

function requestsOf(sample: Sample): string {
  const sequence = sample.isSequence
    ? ', "parameters": {"sequence_id": 1, "sequence_start": True}'
    : "";
  const key = (name: string) => `"${name}"`;
  const tensors = tensorsText(sample, key, (value, count) => `[${value}] * ${count}`);
  const body = `{"inputs": ${tensors}${sequence}}`;
  const sent =
    sample.file === null
      ? `json=${body}`
      : `data=${readIn(sample.file)}, headers={"${RAW_HEADER}": "0"}`;
  const script = `import requests; print(requests.post("${urlOf(sample)}", ${sent}).json())`;
  return `python3 -c ${quoted(script)}`;
}

const NUMPY_DTYPES: Readonly<Record<string, string>> = { string: "object" };

function tritonclientOf(sample: Sample): string {
  const names = sample.inputs.map((_, index) => `i${index}`);
  const inputs = sample.inputs.flatMap(({ name, dtype, datatype, shape, value }, index) => {
    const sizes = `[${shape.join(", ")}]`;
    const filled = sample.file === null ? value : readIn(sample.file);
    const array = `numpy.full(${sizes}, ${filled}, "${NUMPY_DTYPES[dtype] ?? dtype}")`;
    return [
      `i${index} = http.InferInput(${JSON.stringify(name)}, ${sizes}, "${datatype}")`,
      `i${index}.set_data_from_numpy(${array})`,
    ];
  });
  const sequence = sample.isSequence ? ", sequence_id=1, sequence_start=True" : "";
  const asked = `infer(${JSON.stringify(sample.application)}, [${names.join(", ")}]${sequence})`;
  const script = [
    "import numpy",
    "from tritonclient import http",
    ...inputs,
    `print(http.InferenceServerClient("${HOST}").${asked}.get_response())`,
  ].join("; ");
  return `python3 -c ${quoted(script)}`;
}

function sizeIn(model: ModelFile | undefined, input: number, axis: number, size: number): number {
  if (size > 0) return size;
  const bucket = model?.buckets?.find(({ inputs }) =>
    inputs.some((place) => place.input === input && place.axis === axis),
  );
  return bucket?.sizes[0] ?? 1;
}
