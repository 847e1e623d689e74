/** Fields about how a worker uses a model file. */
import { integerIn, listOf, numberIn, oneOf, or, orNull, type Shape, text } from "./fields.ts";
import { MAX_BATCH, MAX_BUCKETS } from "./limits.ts";
import { record } from "./record.ts";
import { refuse } from "./refuse.ts";
import {
  type AdaptedInput,
  type AdaptedOutput,
  type BucketAxis,
  type ModelAdapter,
  type ModelFile,
  type ModelPart,
  OUTPUT_FORMS,
  type Resize,
  type TensorInfo,
} from "./schema.ts";

const MAX_TENSORS = 256;
const MAX_RANK = 16;
const MAX_LABELS = 2 ** 20;
const MAX_SIZE = 2 ** 31;
/** Range of constants and padding: any number that a tensor can hold. */
const ANY_NUMBER = 1e300;
const MAX_BUCKET_AXES = 4;

const anyNumber = numberIn(-ANY_NUMBER, ANY_NUMBER);
const axis = integerIn(0, MAX_RANK - 1);
const index = integerIn(0, MAX_TENSORS - 1);
const shape = listOf([0, MAX_RANK], or(-1, integerIn(1, MAX_SIZE)));
const batchAxis = [
  orNull(axis),
  "Axis of the rows; nil without one, which allows one row at a time.",
] as const;

const resize = record<Resize>({
  fit: [
    oneOf(["fill", "pad"]),
    "Stretched, or padded at the bottom and on the right to keep its aspect ratio.",
  ],
  padding: [anyNumber, "Value of the padding."],
});

const adaptedInput = record<AdaptedInput>({
  name: [text, "Name in the file."],
  dtype: [text, "The type of its elements, as ONNX Runtime names it."],
  shape: [shape, "The model's own; −1 for the rows, and for an axis of several sizes."],
  batchAxis: [...batchAxis],
  from: [orNull(index), "Index in `inputs` of the model; nil for a constant."],
  constant: [orNull(anyNumber), "Value of every element; nil unless it is a constant."],
  resize: [
    orNull(resize),
    "How images are resized to the model's height and width; nil if they have them.",
  ],
});

const label: Shape<string> = {
  words: "a text of at most 1024 characters",
  read(value, path) {
    if (typeof value === "string" && value.length <= 1024) return value;
    return refuse(path, value, "a text of at most 1024 characters");
  },
};

const adaptedOutput = record<AdaptedOutput>({
  name: [text, "Name in the file."],
  batchAxis: [...batchAxis],
  as: [oneOf([...OUTPUT_FORMS]), "Form of the output, along its last axis."],
  k: [orNull(integerIn(1, MAX_BATCH)), 'Number of classes of "top-k"; else nil.'],
  labels: [
    orNull(listOf([1, MAX_LABELS], label)),
    'Names of the classes, of "ctc" without the blank; nil without them.',
  ],
  blank: [orNull(integerIn(0, MAX_LABELS)), 'Index of the blank class of "ctc"; else nil.'],
});

export const modelAdapter = record<ModelAdapter>({
  maxRows: [orNull(integerIn(1, MAX_BATCH)), "Largest number of rows; nil for any."],
  inputs: [listOf([1, MAX_TENSORS], adaptedInput), "Inputs of the file, in its order."],
  outputs: [
    listOf([1, MAX_TENSORS], adaptedOutput),
    "Source of each of the model's `outputs`, in their order.",
  ],
});

const place = record<BucketAxis["inputs"][number]>({
  input: [index, "Index in `inputs` of the model."],
  axis: [integerIn(1, MAX_RANK - 1), "Axis."],
});

export const buckets = listOf(
  [1, MAX_BUCKET_AXES],
  record<BucketAxis>({
    inputs: [listOf([1, MAX_TENSORS], place), "Inputs with the axis."],
    sizes: [listOf([1, MAX_BUCKETS], integerIn(1, MAX_SIZE)), "Ascending."],
    padding: [anyNumber, "Value of the padding."],
  }),
);

/** Returns the same shape; it also refuses indices out of range, and parts that do not fit. */
export function withSoundAdapter(file: Shape<ModelFile>): Shape<ModelFile> {
  return {
    ...file,
    read(value, path) {
      const read = file.read(value, path);
      if (read.adapter !== undefined) checkAdapter(read, read.adapter, `${path}.adapter`);
      if (read.parts !== undefined) checkParts(read, read.parts, `${path}.parts`);
      if (read.buckets !== undefined) checkBuckets(read, read.buckets, `${path}.buckets`);
      return read;
    },
  };
}

function checkAdapter({ inputs, outputs }: ModelFile, adapter: ModelAdapter, path: string): void {
  const used = new Set<number>();
  for (const [at, { shape: own, batchAxis: rows, from, constant }] of adapter.inputs.entries()) {
    const where = `${path}.inputs[${at}]`;
    checkAxis(rows, own.length, `${where}.batchAxis`);
    if ((from === null) === (constant === null)) {
      refuse(`${where}.from`, from, "an index, or nil beside a constant");
    }
    if (from === null) continue;
    if (from >= inputs.length || used.has(from)) {
      refuse(`${where}.from`, from, `an index below ${inputs.length}, each once`);
    }
    used.add(from);
    if (rows === null && adapter.maxRows !== 1) {
      refuse(`${path}.maxRows`, adapter.maxRows, "1, since an input has no rows");
    }
  }
  if (used.size < inputs.length) {
    refuse(`${path}.inputs`, used.size, `all of the ${inputs.length} inputs`);
  }
  if (adapter.outputs.length !== outputs.length) {
    refuse(`${path}.outputs`, adapter.outputs.length, `${outputs.length}, one for each output`);
  }
  for (const [at, { as, k, labels, blank }] of adapter.outputs.entries()) {
    const where = `${path}.outputs[${at}]`;
    if ((as === "top-k") !== (k !== null)) refuse(`${where}.k`, k, 'a number beside "top-k" only');
    const isCtc = as === "ctc" || as === "ctc-confidence";
    if (isCtc !== (blank !== null)) refuse(`${where}.blank`, blank, 'a class beside "ctc" only');
    if (as === "ctc" && labels === null) refuse(`${where}.labels`, labels, 'labels beside "ctc"');
  }
}

function checkAxis(found: number | null, rank: number, path: string): void {
  if (found !== null && found >= rank) refuse(path, found, `an axis below ${rank}, or nil`);
}

function checkBuckets(
  { inputs }: { readonly inputs: readonly TensorInfo[] },
  axes: readonly BucketAxis[],
  path: string,
): void {
  let count = 1;
  for (const [at, { inputs: places, sizes }] of axes.entries()) {
    for (const [position, { input, axis: on }] of places.entries()) {
      const where = `${path}[${at}].inputs[${position}]`;
      const rank = inputs[input]?.shape.length ?? 0;
      if (on >= rank) refuse(`${where}.axis`, on, `an axis below ${rank} of an existing input`);
      if (inputs[input]?.shape[on] !== -1) refuse(`${where}.axis`, on, "an axis that is −1");
    }
    for (const [position, size] of sizes.entries()) {
      const before = sizes[position - 1] ?? 0;
      if (size <= before) refuse(`${path}[${at}].sizes[${position}]`, size, `more than ${before}`);
    }
    count *= sizes.length;
  }
  if (count > MAX_BUCKETS) refuse(path, count, `at most ${MAX_BUCKETS} combinations of sizes`);
}

/** @throws BundleError at the first contradiction. */
function checkParts(model: ModelFile, parts: readonly ModelPart[], path: string): void {
  for (const other of ["adapter", "buckets", "module", "remote"] as const) {
    if (model[other] !== undefined) refuse(path, parts.length, `none beside \`${other}\``);
  }
  for (const [index, { inputs, outputs }] of parts.entries()) {
    for (const [side, tensors] of Object.entries({ inputs, outputs })) {
      const again = tensors.findIndex(
        ({ name }, at) => tensors.findIndex((o) => o.name === name) < at,
      );
      if (again < 0) continue;
      refuse(`${path}[${index}].${side}[${again}].name`, tensors[again]?.name, "a name of its own");
    }
  }
  const [found, expected] = [signatureOf(parts.at(-1)?.outputs ?? []), signatureOf(model.outputs)];
  if (found === expected) return;
  refuse(`${path}[${parts.length - 1}].outputs`, found, `${expected}, as the model's`);
}

function signatureOf(tensors: readonly TensorInfo[]): string {
  return tensors.map(({ name, dtype, shape }) => `${name} ${dtype}[${shape}]`).join(", ");
}
