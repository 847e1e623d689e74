/** Pages whose texts are known. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export interface Page {
  readonly name: string;
  /** The picture, as a client would send it. */
  readonly file: Uint8Array<ArrayBuffer>;
  readonly text: string;
  readonly isScan: boolean;
}

const SCANS = ["finn", "lovelace-1", "lovelace-2", "notices", "trenches"];

/** In the order of their names. */
export function readPages(folder = path.join("models", "ocr", "pages")): Page[] {
  const files = readdirSync(folder).filter((file) => /\.(png|jpg)$/u.test(file));
  return files.sort().map((file) => {
    const { name } = path.parse(file);
    return {
      name,
      file: new Uint8Array(readFileSync(path.join(folder, file))),
      text: readFileSync(path.join(folder, `${name}.txt`), "utf8"),
      isScan: SCANS.includes(name),
    };
  });
}
