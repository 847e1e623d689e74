/**
 * Draws the pages of models/ocr/pages whose text is known because it was drawn. It needs the fonts
 * DejaVu (Debian: fonts-dejavu). Usage: node dist/lab/models/ocr/render-pages.js [FOLDER]
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import sharp, { type Sharp } from "sharp";
import { randomSource } from "../letters.ts";

interface DrawnPage {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly font: string;
  readonly size: number;
  /** Distance of the lines in pixels. */
  readonly pitch: number;
  readonly ink?: string;
  readonly paper?: string;
  /** Degrees, clockwise. */
  readonly tilt?: number;
  /** Standard deviation of grey levels; with any the page is a JPEG. */
  readonly noise?: number;
  /** A line, or its columns with where each begins. */
  readonly lines: readonly (string | readonly (readonly [x: number, text: string])[])[];
}

const PAGES: readonly DrawnPage[] = [
  {
    name: "letter",
    width: 640,
    height: 704,
    font: "DejaVu Sans",
    size: 24,
    pitch: 42,
    lines: [
      "Dear Ms Okafor,",
      "Thank you for your order of 14 March.",
      "The two lamps and the folding table left",
      "our warehouse this morning and should",
      "reach you by Friday. The chair you asked",
      "for is out of stock until May; we have",
      "refunded its price of $89.50 to your card",
      "ending in 4417.",
      "",
      "If anything is missing or broken, write to",
      "help@example.com within 30 days and",
      "quote the number A-20731/6.",
      "",
      "Yours sincerely,",
      "Tomas Lindqvist",
    ],
  },
  {
    name: "book",
    width: 640,
    height: 832,
    font: "DejaVu Serif",
    size: 24,
    pitch: 42,
    paper: "#f4efe2",
    ink: "#2a2622",
    lines: [
      "Alice was beginning to get very tired of",
      "sitting by her sister on the bank, and of",
      "having nothing to do: once or twice she",
      "had peeped into the book her sister was",
      "reading, but it had no pictures or conver-",
      'sations in it, "and what is the use of a',
      'book," thought Alice, "without pictures',
      'or conversations?"',
      "So she was considering in her own mind",
      "(as well as she could, for the hot day made",
      "her feel very sleepy and stupid), whether",
      "the pleasure of making a daisy-chain",
      "would be worth the trouble of getting up",
      "and picking the daisies, when suddenly a",
      "White Rabbit with pink eyes ran close by",
      "her.",
    ],
  },
  {
    name: "log",
    width: 576,
    height: 448,
    font: "DejaVu Sans Mono",
    size: 20,
    pitch: 36,
    ink: "#d6e2d0",
    paper: "#10151a",
    lines: [
      "$ stratagem compile letters/app.yaml",
      "08:14:03.127 INFO  7 variants",
      "08:14:03.982 INFO  350/s in 212 ms",
      "08:14:04.410 WARN  2100/s: 0.31% late",
      "08:14:05.006 INFO  wrote 48210 bytes",
      "$ sha256sum bundle.msgpack | cut -c1-16",
      "9f86d081884c7d65",
      "$ curl -s 127.0.0.1:8000/v2/health/ready",
      '{"ready": true, "uptime_s": 3}',
    ],
  },
  {
    name: "receipt",
    width: 512,
    height: 768,
    font: "DejaVu Sans Mono",
    size: 22,
    pitch: 42,
    ink: "#3a3a3a",
    lines: [
      [[120, "CORNER BAKERY"]],
      [[100, "12 Harbour Street"]],
      [[110, "Tel 555-0142-77"]],
      "",
      ...columns([30, 390], ["2 Rye bread", "7.80"]),
      ...columns([30, 390], ["6 Rolls, seeded", "4.50"]),
      ...columns([30, 390], ["1 Apple cake", "3.25"]),
      ...columns([30, 390], ["1 Coffee", "2.60"]),
      "",
      ...columns([30, 376], ["TOTAL", "18.15"], ["Cash", "20.00"]),
      ...columns([30, 390], ["Change", "1.85"]),
      "",
      [[50, "2026-03-14 09:41 No. 00583"]],
      [[150, "Thank you!"]],
    ],
  },
  {
    name: "table",
    width: 640,
    height: 448,
    font: "DejaVu Sans Condensed",
    size: 24,
    pitch: 44,
    lines: columns(
      [30, 240, 370, 480],
      ["Station", "January", "July", "Rain, mm"],
      ["Reykjavik", "0.7", "11.6", "875"],
      ["Lisbon", "11.6", "23.5", "774"],
      ["Nairobi", "19.5", "16.9", "1024"],
      ["Cape Town", "21.9", "12.7", "515"],
      ["Wellington", "17.8", "9.2", "1207"],
      ["Santiago", "21.2", "8.4", "342"],
      ["Montreal", "-9.7", "21.2", "1000"],
      ["Ulaanbaatar", "-21.6", "18.2", "281"],
    ),
  },
  {
    name: "languages",
    width: 640,
    height: 704,
    font: "DejaVu Sans",
    size: 25,
    pitch: 46,
    lines: [
      "Voix ambiguë d'un cœur qui, au zéphyr,",
      "préfère les jattes de kiwis. Où est passée",
      "la clé du garage à côté?",
      "Zwölf Boxkämpfer jagen Viktor quer über",
      "den großen Sylter Deich. Ärger macht",
      "müde, Öl nicht.",
      "El pingüino Wenceslao hizo kilómetros",
      "bajo exhaustiva lluvia y frío; añoraba a",
      "su querido cachorro.",
      "Luís argüia à Júlia que brações, fé, chá,",
      "óxido, pôr, zângão eram palavras do",
      "português.",
      "Quel vituperabile xenofobo zelante",
    ],
  },
  {
    name: "faint",
    width: 640,
    height: 704,
    font: "DejaVu Serif",
    size: 24,
    pitch: 45,
    ink: "#8d8a84",
    paper: "#c9c4ba",
    tilt: 2,
    noise: 12,
    lines: [
      "It is a truth universally acknowledged,",
      "that a single man in possession of a good",
      "fortune, must be in want of a wife.",
      "However little known the feelings or",
      "views of such a man may be on his first",
      "entering a neighbourhood, this truth is",
      "so well fixed in the minds of the sur-",
      "rounding families, that he is considered",
      "as the rightful property of some one or",
      "other of their daughters.",
      '"My dear Mr. Bennet," said his lady to',
      'him one day, "have you heard that',
      'Netherfield Park is let at last?"',
    ],
  },
  {
    name: "small",
    width: 640,
    height: 768,
    font: "DejaVu Serif",
    size: 14,
    pitch: 25,
    noise: 4,
    lines: [
      [[150, "Call me Ishmael. Some years ago - never mind"]],
      [[150, "how long precisely - having little or no money"]],
      [[150, "in my purse, and nothing particular to interest"]],
      [[150, "me on shore, I thought I would sail about a"]],
      [[150, "little and see the watery part of the world."]],
      [[150, "It is a way I have of driving off the spleen"]],
      [[150, "and regulating the circulation. Whenever I"]],
      [[150, "find myself growing grim about the mouth;"]],
      [[150, "whenever it is a damp, drizzly November in"]],
      [[150, "my soul; whenever I find myself involuntarily"]],
      [[150, "pausing before coffin warehouses, and bringing"]],
      [[150, "up the rear of every funeral I meet; and"]],
      [[150, "especially whenever my hypos get such an upper"]],
      [[150, "hand of me, that it requires a strong moral"]],
      [[150, "principle to prevent me from deliberately"]],
      [[150, "stepping into the street, and methodically"]],
      [[150, "knocking people's hats off - then, I account"]],
      [[150, "it high time to get to sea as soon as I can."]],
    ],
  },
];

const folder = process.argv[2] ?? path.join("models", "ocr", "pages");
for (const page of PAGES) {
  const picture = await drawn(page);
  const isNoisy = page.noise !== undefined;
  const file = isNoisy
    ? await picture.greyscale().jpeg({ quality: 55 }).toBuffer()
    : await picture.png({ palette: true, colours: 16, compressionLevel: 9 }).toBuffer();
  writeFileSync(path.join(folder, `${page.name}.${isNoisy ? "jpg" : "png"}`), file);
  writeFileSync(path.join(folder, `${page.name}.txt`), textOf(page));
}

function textOf({ lines }: DrawnPage): string {
  const text = lines.map((line) =>
    typeof line === "string" ? line : line.map(([, part]) => part).join(" "),
  );
  return `${text.filter((line) => line !== "").join("\n")}\n`;
}

/** Rows of columns: where each begins, and what the rows say. */
function columns(
  starts: readonly number[],
  ...rows: readonly (readonly string[])[]
): (readonly (readonly [x: number, text: string])[])[] {
  return rows.map((row) => row.map((text, column) => [starts[column] ?? 0, text] as const));
}

async function drawn(page: DrawnPage): Promise<Sharp> {
  const { width, height, noise } = page;
  const picture = sharp(Buffer.from(svgOf(page)));
  if (noise === undefined) return picture;
  const { data, info } = await picture.removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const random = randomSource(17, 0);
  for (let pixel = 0; pixel < width * height; pixel++) {
    // A sum of twelve uniform numbers is close to normal.
    let sum = -6;
    for (let draw = 0; draw < 12; draw++) sum += random();
    for (let channel = 0; channel < info.channels; channel++) {
      const index = pixel * info.channels + channel;
      data[index] = Math.min(255, Math.max(0, Math.round((data[index] ?? 0) + noise * sum)));
    }
  }
  return sharp(data, { raw: { width, height, channels: info.channels } });
}

function svgOf(page: DrawnPage): string {
  const { width, height, font, size, pitch, lines, tilt = 0 } = page;
  const texts = lines.flatMap((line, index) => {
    const y = Math.round(0.7 * pitch + size + index * pitch);
    const parts = typeof line === "string" ? ([[30, line]] as const) : line;
    return parts.map(([x, text]) => `<text x="${x}" y="${y}">${escaped(text)}</text>`);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <rect width="100%" height="100%" fill="${page.paper ?? "#ffffff"}"/>
    <g font-family="${font}" font-size="${size}" fill="${page.ink ?? "#000000"}"
      transform="rotate(${tilt} ${width / 2} ${height / 2})">${texts.join("")}</g></svg>`;
}

function escaped(text: string): string {
  return text.replace(/&/gu, "&amp;").replace(/</gu, "&lt;");
}
