/**
 * `stratagem-kit/ctc`: what a recogniser of lines has read, by greedy decoding.
 *
 * Input `steps`, FP32 [time, classes]: probabilities, or logits where `from` says so. Outputs
 * `text`, BYTES []: the likeliest class of each step, runs of one class once, blanks left out;
 * `confidence`, FP32 []: the mean probability of the steps whose class is in the text, at the first
 * of each run; 0 for an empty text. Source: Graves and others, Connectionist Temporal
 * Classification (ICML 2006), section 3.2, best path decoding; confidence as PaddleOCR's
 * CTCLabelDecode has it.
 */
import type { HostModule, NamedTensors, OpenArguments, Tensor } from "./module/contract.ts";
import { labelsOf } from "./module/labels.ts";
import { OptionReader } from "./module/options.ts";
import { eachRow } from "./module/row-error.ts";
import { floatsOf } from "./module/tensors.ts";
import { type Alphabet, bestPath } from "./text/best-path.ts";

/** Steps of a line to profile with: 320 pixels of PP-OCR. */
const SAMPLE_STEPS = 40;

/** @throws TypeError if an option is not what it may be. */
export default async function open(how: OpenArguments): Promise<HostModule> {
  const alphabet = alphabetOf(how);
  const classes = alphabet.characters.length;
  return {
    inputs: [{ name: "steps", datatype: "FP32", shape: [-1, classes] }],
    outputs: [
      { name: "text", datatype: "BYTES", shape: [] },
      { name: "confidence", datatype: "FP32", shape: [] },
    ],
    batches: null,
    sample: (rows, random) => ({ steps: sampleLine(rows, alphabet, random) }),
    run: (inputs, rows) => read(inputs, rows, alphabet),
    close: () => {},
  };
}

/** Options `labels`, `blank`, `space` and `from`. */
function alphabetOf({ options: given, folder }: OpenArguments): Alphabet {
  const options = new OptionReader("stratagem-kit/ctc", given);
  const labels = labelsOf(options, folder);
  if (labels === null) throw options.unfit("labels", "the characters, a list or a file");
  const characters = options.flag("space", false) ? [...labels, " "] : [...labels];
  const last = characters.length;
  const blank =
    options.raw("blank") === "last" ? last : options.integer("blank", { min: 0, max: last }, 0);
  characters.splice(blank, 0, "");
  const areLogits =
    options.oneOf("from", ["probabilities", "logits"], "probabilities") === "logits";
  options.done();
  return { characters, blank, areLogits };
}

/** @throws TypeError if there are other classes than characters and a blank. */
async function read(inputs: NamedTensors, rows: number, alphabet: Alphabet): Promise<NamedTensors> {
  const { data, shape } = floatsOf(inputs, "steps", rows, 3);
  const [, time = 0, classes = 0] = shape;
  if (classes !== alphabet.characters.length) {
    const expected = `${alphabet.characters.length} classes, labels and blank`;
    throw new TypeError(`input "steps": expected ${expected}, got ${classes}`);
  }
  const text: string[] = [];
  const confidence = new Float32Array(rows);
  const size = time * classes;
  const lines = Array.from({ length: rows }, (_, row) =>
    data.subarray(row * size, (row + 1) * size),
  );
  await eachRow("steps", lines, (line, row) => {
    const path = bestPath(line, alphabet);
    text.push(path.text);
    confidence[row] = path.confidence;
  });
  return { text: { data: text, shape: [rows] }, confidence: { data: confidence, shape: [rows] } };
}

/** Lines where about every second step is a blank, as recognisers give them. */
function sampleLine(rows: number, alphabet: Alphabet, random: () => number): Tensor {
  const classes = alphabet.characters.length;
  const data = new Float32Array(rows * SAMPLE_STEPS * classes).fill(0.1 / classes);
  for (let step = 0; step < rows * SAMPLE_STEPS; step++) {
    const likely = random() < 0.5 ? alphabet.blank : Math.floor(random() * classes);
    data[step * classes + likely] = 0.9;
  }
  return { data, shape: [rows, SAMPLE_STEPS, classes] };
}
