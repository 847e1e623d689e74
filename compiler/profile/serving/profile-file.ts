/** Adds the serving path to an existing profile, without other changes. */
import { readFile } from "node:fs/promises";
import { InputError } from "../../spec/document/input-error.ts";
import { readProfile } from "../../spec/profile.ts";
import type { ServingRows } from "./serving-rows.ts";

/** @throws InputError if there is no JSON profile at the path. */
export async function expectProfile(path: string): Promise<void> {
  readProfile(path);
  await profileObject(path);
}

/**
 * Returns the file with the rows inserted before the variants. @throws InputError as
 * `expectProfile`.
 */
export async function withServingRows(path: string, serving: ServingRows): Promise<Uint8Array> {
  const { variants, serving: _, ...head } = await profileObject(path);
  const whole = { ...head, serving, variants };
  return Buffer.from(`${JSON.stringify(whole, null, 2)}\n`);
}

async function profileObject(path: string): Promise<Readonly<Record<string, unknown>>> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new InputError("INPUT_UNREADABLE", `${path}: cannot be read (${error.code})`);
  });
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return { ...value };
  } catch {
    // It may be YAML.
  }
  throw new InputError(
    "INPUT_INVALID_VALUE",
    `${path}: expected a profile in JSON to add the serving path to, got another form; ` +
      "write it as JSON first",
  );
}
