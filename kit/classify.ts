/**
 * `stratagem-kit/classify`: what a classifier's scores say, as its largest classes with their
 * names.
 *
 * Input `scores`, FP32 [classes]: logits, or probabilities where `from` says so. Outputs `classes`,
 * INT64 [top], the largest first, of equal ones the lowest index first; `confidences`, FP32 [top],
 * their probabilities (softmax of logits, less their maximum so that nothing overflows); `labels`,
 * BYTES [top], where there are some; `probabilities`, FP32 [classes], where they are asked for.
 */
import type { HostModule, NamedTensors, OpenArguments } from "./module/contract.ts";
import { labelsOf } from "./module/labels.ts";
import { OptionReader } from "./module/options.ts";
import { eachRow } from "./module/row-error.ts";
import { noise } from "./module/sample.ts";
import { floatsOf } from "./module/tensors.ts";
import { largest, softmax } from "./numbers/scores.ts";

interface Settings {
  readonly classes: number;
  readonly top: number;
  readonly areLogits: boolean;
  readonly labels: readonly string[] | null;
  readonly givesAll: boolean;
}

const MAX_CLASSES = 10_000_000;

/** @throws TypeError if an option is not what it may be. */
export default async function open(how: OpenArguments): Promise<HostModule> {
  const settings = settingsOf(how);
  const { classes, top, labels, givesAll } = settings;
  return {
    inputs: [{ name: "scores", datatype: "FP32", shape: [classes] }],
    outputs: [
      { name: "classes", datatype: "INT64", shape: [top] },
      { name: "confidences", datatype: "FP32", shape: [top] },
      ...(labels === null ? [] : [{ name: "labels", datatype: "BYTES" as const, shape: [top] }]),
      ...(givesAll ? [{ name: "probabilities", datatype: "FP32" as const, shape: [classes] }] : []),
    ],
    batches: null,
    sample: (rows, random) => ({ scores: noise([rows, classes], random) }),
    run: (inputs, rows) => classified(inputs, rows, settings),
    close: () => {},
  };
}

function settingsOf({ options: given, folder }: OpenArguments): Settings {
  const options = new OptionReader("stratagem-kit/classify", given);
  const labels = labelsOf(options, folder);
  const classes = options.integer("classes", { min: 1, max: MAX_CLASSES }, labels?.length);
  if (labels !== null && labels.length !== classes) {
    throw options.unfit("classes", `as many as there are labels, ${labels.length}`);
  }
  const settings = {
    classes,
    labels,
    top: options.integer("top", { min: 1, max: classes }, 1),
    areLogits: options.oneOf("from", ["logits", "probabilities"], "logits") === "logits",
    givesAll: options.flag("probabilities", false),
  };
  options.done();
  return settings;
}

/** @throws RowError for rows with a score that is no number. */
async function classified(
  inputs: NamedTensors,
  rows: number,
  { classes, top, areLogits, labels, givesAll }: Settings,
): Promise<NamedTensors> {
  const { data } = floatsOf(inputs, "scores", rows, 2);
  const probabilities = areLogits ? new Float32Array(data.length) : data;
  const indices = new BigInt64Array(rows * top);
  const confidences = new Float32Array(rows * top);
  const names: string[] = [];
  const each = Array.from({ length: rows }, (_, row) =>
    data.subarray(row * classes, (row + 1) * classes),
  );
  await eachRow("scores", each, (scores, row) => {
    const own = probabilities.subarray(row * classes, (row + 1) * classes);
    if (areLogits) softmax(scores, own);
    for (const [place, index] of largest(scores, top).entries()) {
      indices[row * top + place] = BigInt(index);
      confidences[row * top + place] = own[index] ?? 0;
      names.push(labels?.[index] ?? "");
    }
  });
  const shape = [rows, top];
  return {
    classes: { data: indices, shape },
    confidences: { data: confidences, shape },
    ...(labels === null ? {} : { labels: { data: names, shape } }),
    ...(givesAll ? { probabilities: { data: probabilities, shape: [rows, classes] } } : {}),
  };
}
