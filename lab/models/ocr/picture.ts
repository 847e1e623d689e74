/**
 * Sends a page to a server of policies/ocr and draws what went in and what came out, side by side.
 * Usage: node dist/lab/models/ocr/picture.js URL [PAGE] [OUT]
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import sharp from "sharp";

const HEAD_HEIGHT = 64;
const GAP = 24;

interface Answer {
  readonly outputs: readonly { readonly name: string; readonly data: readonly unknown[] }[];
}

const [url, page = "lovelace-1.jpg", out = path.join("docs", "images", "ocr.png")] =
  process.argv.slice(2);
if (url === undefined) throw new Error("expected the URL of a server");
const file = path.join("models", "ocr", "pages", page);
const picture = readFileSync(file);
const response = await fetch(`${url}/v2/models/ocr/infer`, {
  method: "POST",
  headers: { "inference-header-content-length": "0" },
  body: picture,
});
if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
const answer = (await response.json()) as Answer;
const { width = 0, height = 0 } = await sharp(picture).metadata();
const total = { width: 2 * width + 3 * GAP, height: height + HEAD_HEIGHT + GAP };
const blank = sharp({ create: { ...total, channels: 3, background: "#e9ecef" } });
await blank
  .composite([
    { input: picture, left: GAP, top: HEAD_HEIGHT },
    { input: Buffer.from(overlay(answer)), left: 0, top: 0 },
  ])
  .png({ palette: true, colours: 32, compressionLevel: 9 })
  .toFile(out);

/** The command, a frame around each line, and its text at the same place on the right. */
function overlay({ outputs }: Answer): string {
  const corners = dataOf(outputs, "find.corners") as number[];
  const texts = dataOf(outputs, "read.text") as string[];
  const command =
    `curl --data-binary @${page} -H 'Inference-Header-Content-Length: 0' ` +
    "$URL/v2/models/ocr/infer";
  const right = 2 * GAP + width;
  const lines = texts.map((text, index) => {
    const points = corners.slice(8 * index, 8 * index + 8);
    const shown = points.map((value, at) => value + (at % 2 === 0 ? GAP : HEAD_HEIGHT));
    const [x = 0, top = 0] = points;
    const bottom = points[7] ?? 0;
    const size = Math.round((bottom - top) * 0.62);
    return (
      `<polygon points="${shown.join(" ")}" fill="#1c7ed622" stroke="#1c7ed6"/>` +
      `<text x="${right + x}" y="${HEAD_HEIGHT + top + 0.72 * (bottom - top)}" ` +
      `font-family="DejaVu Sans" font-size="${size}">${escaped(text)}</text>`
    );
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${total.width}" height="${total.height}">
    <rect x="${right}" y="${HEAD_HEIGHT}" width="${width}" height="${height}" fill="#ffffff"/>
    <text x="${GAP}" y="40" font-family="DejaVu Sans Mono" font-size="19">${escaped(command)}</text>
    ${lines.join("\n")}</svg>`;
}

function dataOf(outputs: Answer["outputs"], name: string): readonly unknown[] {
  const output = outputs.find((one) => one.name === name);
  if (output === undefined) throw new Error(`the answer has no output ${name}`);
  return output.data;
}

function escaped(text: string): string {
  return text.replace(/&/gu, "&amp;").replace(/</gu, "&lt;");
}
