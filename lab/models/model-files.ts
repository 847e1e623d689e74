/** What is said of a model's file in the models.json beside it, and the writing of both. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";

interface NamedFile {
  readonly file: string;
  readonly content: Uint8Array;
}

export function sha256Of(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Name, file, hash and size. */
export function fileFields({ file, content }: NamedFile) {
  return { name: path.parse(file).name, file, sha256: sha256Of(content), bytes: content.length };
}

/** Of a model that was made of another one in a folder beside its own. */
export function madeOf(made: NamedFile, folder: string, source: NamedFile) {
  return {
    ...fileFields(made),
    source: {
      file: path.posix.join("..", folder, source.file),
      sha256: sha256Of(source.content),
    },
  };
}

export function writeModels(folder: string, models: readonly NamedFile[], document: object): void {
  for (const { file, content } of models) writeFileSync(path.join(folder, file), content);
  writeFileSync(path.join(folder, "models.json"), `${JSON.stringify(document, null, 2)}\n`);
}
