/**
 * Cuts the scanned pages of models/ocr/pages out of the pictures that models/ocr/README.md names,
 * from a folder with these. Their texts were typed by hand.
 * Usage: node dist/lab/models/ocr/cut-scans.js SOURCES [FOLDER]
 */
import path from "node:path";
import sharp from "sharp";

/** Part of a picture: left, top, width and height in its pixels; and the width of the page. */
const CUTS = [
  { name: "lovelace-1", from: "lucasta.047.jpg", part: [20, 90, 905, 725], width: 704 },
  { name: "lovelace-2", from: "lucasta.047.jpg", part: [20, 815, 905, 920], width: 704 },
  { name: "trenches", from: "keystone.png", part: [20, 0, 1115, 850], width: 704 },
  { name: "notices", from: "lighttext.jpg", part: [0, 33, 702, 797], width: 704 },
  { name: "finn", from: "c02-22.jpg", part: [395, 588, 405, 262], width: 405 },
] as const;

const [sources, folder = path.join("models", "ocr", "pages")] = process.argv.slice(2);
if (sources === undefined) throw new Error("expected the folder with the pictures");
for (const { name, from, part, width } of CUTS) {
  const [left, top, partWidth, height] = part;
  await sharp(path.join(sources, from))
    .flatten({ background: "white" })
    .extract({ left, top, width: partWidth, height })
    .resize({ width })
    .greyscale()
    .jpeg({ quality: 60 })
    .toFile(path.join(folder, `${name}.jpg`));
}
