/** Runs a credential helper, `docker-credential-NAME`, as docker and podman do. */
import { type ChildProcess, spawn } from "node:child_process";
import { RuntimeError } from "../base/errors.ts";
import type { Credentials } from "./credential-kinds.ts";

const NAME = /^\w[\w.-]{0,63}$/;
const MAX_ANSWER_BYTES = 2 ** 20;
const TIMEOUT_MS = 30_000;
/** Output of helpers, in place of JSON, for unknown servers. */
const UNKNOWN = "credentials not found";
/** User name that marks the secret as a token. */
const TOKEN_NAME = "<token>";

/**
 * Asks a helper; null if it has no credentials. Its output never appears in messages.
 * @param server name of the registry for the helper.
 * @throws RuntimeError RUNTIME_CREDENTIALS
 */
export async function helpedCredentials(
  helper: string,
  server: string,
  environment: NodeJS.ProcessEnv,
): Promise<Credentials | null> {
  const program = `docker-credential-${helper}`;
  if (!NAME.test(helper)) throw refusal(helper.slice(0, 64), "expected the name of a helper");
  const { code, text } = await answerOf(program, server, environment);
  if (code !== 0) {
    if (text.includes(UNKNOWN)) return null;
    throw refusal(program, `expected credentials for ${server}, but it exited with code ${code}`);
  }
  const found = parsed(text);
  if (found === null) throw refusal(program, `expected JSON with Username and Secret`);
  const { Username: username, Secret: secret } = found;
  if (username === TOKEN_NAME) return { kind: "identity", token: secret };
  return { kind: "password", username, password: secret };
}

function answerOf(
  program: string,
  server: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly code: number | null; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const stdio: ["pipe", "pipe", "ignore"] = ["pipe", "pipe", "ignore"];
    // A refused process has no streams.
    const child: ChildProcess = spawn(program, ["get"], { stdio, env, timeout: TIMEOUT_MS });
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.length > MAX_ANSWER_BYTES) child.kill("SIGKILL");
    });
    child.on("error", (error: NodeJS.ErrnoException) => {
      const reason = error.code === "ENOENT" ? "no such program" : (error.code ?? "it failed");
      reject(refusal(program, `expected a credential helper, got: ${reason}`));
    });
    child.on("close", (code) => resolve({ code, text }));
    // A helper that does not read its input is judged by its exit code.
    child.stdin?.on("error", () => {});
    child.stdin?.end(server);
  });
}

function parsed(text: string): { readonly Username: string; readonly Secret: string } | null {
  try {
    const { Username, Secret } = JSON.parse(text);
    if (typeof Username !== "string" || typeof Secret !== "string") return null;
    return { Username, Secret };
  } catch {
    return null;
  }
}

function refusal(where: string, message: string): RuntimeError {
  return new RuntimeError("RUNTIME_CREDENTIALS", `${where}: ${message}`);
}
