/** `keygen --token`: makes a token, and the line for the tokens file. */
import { randomBytes } from "node:crypto";
import { EXIT_CODES, RuntimeError } from "../base/errors.ts";
import { INSTANT_EXPECTED } from "../base/instant.ts";
import { SCOPES } from "../server/access/scopes.ts";
import { tokensOf } from "../server/access/token-file.ts";
import { sha256 } from "../server/access/token-hash.ts";
import type { CommandResult } from "./command-result.ts";

/** Recognized by scanners for leaked secrets. */
const PREFIX = "stg_";
const SECRET_BYTES = 32;

interface TokenCommand {
  readonly name: string;
  /** Separated by commas. */
  readonly scopes: string;
  /** Same form as in the tokens file; left out for no expiry. */
  readonly expires?: string | undefined;
}

/** @throws RuntimeError RUNTIME_USAGE for values that a tokens file does not allow. */
export function tokenCommand(asked: TokenCommand): CommandResult {
  const { name, expires } = asked;
  const token = `${PREFIX}${randomBytes(SECRET_BYTES).toString("base64url")}`;
  const hash = `sha256:${sha256(token).toString("hex")}`;
  const scopes = asked.scopes.split(",").map((scope) => scope.trim());
  const entry = { name, hash, scopes, ...(expires === undefined ? {} : { expires }) };
  const line = `- ${JSON.stringify(entry)}`;
  try {
    tokensOf(line, "token");
  } catch (error) {
    const hint = `scopes are ${SCOPES.join(", ")}; an expiry is ${INSTANT_EXPECTED}`;
    const message = (error as Error).message.replace(/^token:\d+:\d+: /, "");
    throw new RuntimeError("RUNTIME_USAGE", `${message}; ${hint}`);
  }
  const text = [
    "The token, shown this once; clients send it as Authorization: Bearer TOKEN:",
    token,
    "",
    "The line for the file of serve --tokens:",
    line,
  ];
  return { exitCode: EXIT_CODES.ok, text: text.join("\n"), json: { token, line, ...entry } };
}
