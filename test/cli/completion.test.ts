import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliRun, stratagem, stratagemRuntime } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-completion-"));
const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];
const has = (shell: Shell) => spawnSync(shell, ["-c", "exit"]).status === 0;

beforeAll(() => {
  mkdirSync(join(folder, "a folder"));
  writeFileSync(join(folder, "app.yaml"), "");
  for (const shell of SHELLS) {
    for (const [name, run] of Object.entries({
      stratagem,
      "stratagem-runtime": stratagemRuntime,
    })) {
      const { status, stdout, stderr } = run("completion", shell);
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      writeFileSync(join(folder, `${name}.${shell}`), stdout);
    }
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(shell: Shell, program: string): CliRun {
  const args = shell === "fish" ? ["--no-config", "-c", program] : ["-c", program];
  return spawnSync(shell, args, { encoding: "utf8", cwd: folder });
}

/** What a shell offers behind what was typed, of which the last word is begun. */
const OFFERED: Readonly<Record<Shell, (...words: string[]) => string[]>> = {
  bash: (...words) => {
    const script = join(folder, `${words[0]}.bash`);
    const quoted = words.map((word) => `'${word}'`).join(" ");
    const own = `_${words[0]?.replaceAll("-", "_")}_completion`;
    return linesOf(
      run(
        "bash",
        `source ${script}; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}
        ${own}; printf '%s\\n' "\${COMPREPLY[@]}"`,
      ),
    );
  },
  fish: (...words) => {
    const script = join(folder, `${words[0]}.fish`);
    const line = words.join(" ").replace(/ = ?/, "=");
    const lines = linesOf(run("fish", `source ${script}; complete -C '${line}'`));
    // A description follows a tab; after = whole words are offered.
    return lines.map((one) => (one.split("\t")[0] ?? "").replace(/^--[\w-]+=/, ""));
  },
  zsh: (...words) => {
    const line = words.join(" ").replace(/ = ?/, "=");
    return linesOf(run("zsh", zshProgram(join(folder, `${words[0]}.zsh`), line)));
  },
};

/** Types a line into a zsh of its own and reads what is offered, through the hook of compadd. */
function zshProgram(script: string, line: string): string {
  return `
    zmodload zsh/zpty
    zpty z zsh -f -i
    zpty -w z 'PROMPT=; stty -echo; autoload -Uz compinit; compinit -D -u; source ${script}'
    zpty -w z 'compadd() {
      [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]] && { builtin compadd "$@"; return $?; }
      typeset -a __hits; builtin compadd -A __hits "$@"; for h in $__hits; print -r -- "HIT:$h:"
      builtin compadd "$@" }'
    zpty -w z 'offered() { zle expand-or-complete; print -r -- "DO""NE"; exit }; zle -N offered'
    zpty -w z 'bindkey "^I" offered; LISTMAX=10000; print -r -- "REA""DY"'
    zpty -r z out '*READY*'
    zpty -w -n z ${JSON.stringify(line)}$'\\t'
    zpty -r z out '*DONE*'
    print -r -- "$out" | tr -d '\\r' | sed -n 's/.*HIT:\\([^:]*\\):.*/\\1/p'`;
}

function linesOf({ stdout, stderr }: CliRun): string[] {
  expect(stderr).toBe("");
  return [...new Set(stdout.split("\n").filter((line) => line !== ""))].sort();
}

describe.each(SHELLS)("%s", (shell) => {
  const offered = (...words: string[]) => OFFERED[shell](...words);

  test.skipIf(!has(shell))("finds nothing to say against the script", () => {
    for (const name of ["stratagem", "stratagem-runtime"]) {
      const script = join(folder, `${name}.${shell}`);
      expect(run(shell, `${shell} -n ${script}`)).toMatchObject({ status: 0, stderr: "" });
    }
  });

  test.skipIf(!has(shell))("completes commands", () => {
    expect(offered("stratagem", "comp")).toEqual(["compile", "completion"]);
    expect(offered("stratagem-runtime", "s")).toEqual(["scaler", "serve"]);
  });

  test.skipIf(!has(shell))("completes flags of the command, and of no other", () => {
    expect(offered("stratagem", "compile", "app.yaml", "--fan")).toEqual(["--fanouts"]);
    expect(offered("stratagem-runtime", "serve", "--tls-c")).toEqual([
      ...["--tls-cert", "--tls-client-ca"],
    ]);
    expect(offered("stratagem-runtime", "inspect", "--tls-c")).toEqual([]);
  });

  test.skipIf(!has(shell))("completes the words that a value may be", () => {
    expect(offered("stratagem-runtime", "serve", "--device", "")).toEqual([
      ...["auto", "cpu", "cuda", "tensorrt", "webgpu"],
    ]);
    expect(offered("stratagem-runtime", "serve", "--device", "=", "c")).toEqual(["cpu", "cuda"]);
    expect(offered("stratagem", "completion", "")).toEqual(["bash", "fish", "zsh"]);
  });

  test.skipIf(!has(shell))("completes files and folders, where there may be some", () => {
    expect(offered("stratagem", "compile", "app")).toEqual(["app.yaml"]);
    expect(offered("stratagem", "compile", "x.yaml", "-o", "app")).toEqual(["app.yaml"]);
    expect(offered("stratagem-runtime", "serve", "--models", "a")).toEqual([
      expect.stringMatching(/^a(?:\\| )? ?folder\/?$/),
    ]);
    expect(offered("stratagem-runtime", "serve", "--threads", "a")).toEqual([]);
  });
});

test("another shell is a mistake that names those there are", () => {
  const { status, stderr } = stratagemRuntime("completion", "tcsh");
  expect(status).toBe(64);
  expect(stderr).toContain("bash, zsh, fish");
});
