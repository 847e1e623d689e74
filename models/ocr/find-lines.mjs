/**
 * A task that is code: takes pictures of pages, and gives a picture of each line of text on them.
 *
 * Input `image`, BYTES []: a file. Outputs `line`, FP32 [3, 48, width], a row for each line, as they
 * are read; `corners`, FP32 [4, 2], of each on its page; `count`, INT64 []: how many lines a page
 * has. It is decode-image, a detector, db-boxes and crop-rows of stratagem-kit in one process, so
 * that the picture does not have to go around the detector.
 *
 * Options: `model`, the detector of PP-OCR, as `import` would name the file; `side`, of the square
 * that it is given; `width` of a line that is 48 pixels high, into which longer ones are squeezed.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { InferenceSession, Tensor } from "onnxruntime-node";
import openCrops from "stratagem-kit/crop-rows";
import openBoxes from "stratagem-kit/db-boxes";
import openDecoder from "stratagem-kit/decode-image";

const PAGES = new URL("./pages/", import.meta.url);

export default async function open({ options, folder, cores = 1 }) {
  const { model, side = 320, width = 640 } = options;
  const file = createRequire(import.meta.url).resolve(model);
  const session = await InferenceSession.create(file, { intraOpNumThreads: cores });
  const parts = await openParts({ side, width, folder, cores });
  const { decoder, boxes, crops } = parts;
  const lineOf = ({ name, ...rest }) => ({ name: name === "crops" ? "line" : name, ...rest });
  return {
    inputs: decoder.inputs,
    outputs: crops.outputs.map(lineOf),
    batches: null,
    sample,
    async run({ image }, rows) {
      const { pixels, size, to_original } = await decoder.run({ image }, rows);
      const input = new Tensor("float32", pixels.data, pixels.shape);
      const results = await session.run({ [session.inputNames[0]]: input });
      const { data, dims } = results[session.outputNames[0]];
      const found = await boxes.run({ map: { data, shape: dims }, size, to_original }, rows);
      const cut = await crops.run({ image, boxes: found.boxes, count: found.count }, rows);
      return { line: cut.crops, corners: cut.corners, count: cut.count };
    },
    close: () => session.release(),
  };
}

async function openParts({ side, width, folder, cores }) {
  const args = (options) => ({ options, folder, cores });
  const seen = { channels: "bgr", mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };
  const read = { channels: "bgr", mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] };
  return {
    decoder: await openDecoder(
      args({ ...seen, size: [side, side], fit: "contain", place: "start" }),
    ),
    boxes: await openBoxes(args({ size: [side, side], original: true })),
    crops: await openCrops(
      args({
        ...read,
        size: [48, width],
        fit: "height",
        place: "start",
        tall: 1.5,
        padding: [127.5, 127.5, 127.5],
      }),
    ),
  };
}

/** Pages as they come in service. */
function sample(rows, random) {
  const names = readdirSync(PAGES).filter((name) => /\.(png|jpg)$/u.test(name));
  const files = Array.from({ length: rows }, () => {
    const name = names[Math.floor(random() * names.length)];
    return new Uint8Array(readFileSync(new URL(name, PAGES)));
  });
  return { image: { data: files, shape: [rows] } };
}
