import { execFileSync } from "node:child_process";

/** Builds dist/ once before the tests, because the command-line tests run what ships. */
export default function setup(): void {
  execFileSync("npx", ["--no-install", "tsc", "-p", "tsconfig.build.json"], { stdio: "inherit" });
}
