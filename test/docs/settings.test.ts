/** docs/settings.md is made from the table of settings; vitest with `-u` writes it. */
import { expect, test } from "vitest";
import { flagOf, type Setting, variableOf } from "../../runtime/kinds/setting.ts";
import { noFlagOf } from "../../runtime/settings/resolve.ts";
import { isLimit, SETTING_GROUPS } from "../../runtime/settings/table.ts";

const INTRODUCTION = `# Settings of \`serve\`

Every setting is a flag, an environment variable and a key of a YAML or JSON file, which
\`--config FILE\` or \`STRATAGEM_CONFIG\` names. Flags override variables, variables the file,
and the file the defaults. \`serve --print-config\` prints every setting, its value and its
origin, as a file that can be read again.

The variable of \`--server-name\` is \`STRATAGEM_SERVER_NAME\`, its key in a file
\`serverName\`. Limits are written \`--limit maxBody=64MiB\`, once or more often, in
\`STRATAGEM_LIMIT\` with commas between them, and in a file under \`limits\`. Times take a unit
(\`250ms\`, \`30s\`, \`5min\`), and so do bytes (\`64KiB\`, \`512MiB\`, \`8GiB\`).
`;

test("the page of settings is what the table says", async () => {
  const groups = SETTING_GROUPS.map(({ title, settings }) => {
    const rows = Object.entries(settings).map(([key, setting]) => rowOf(key, setting));
    return `## ${title}\n\n| flag | meaning | default |\n| --- | --- | --- |\n${rows.join("")}`;
  });
  const page = `${INTRODUCTION}\n${groups.join("\n")}`;
  await expect(page).toMatchFileSnapshot("../../docs/settings.md");
});

test("variables and keys are spelt as the page says", () => {
  const spelt = [flagOf("serverName"), variableOf("serverName")];
  expect(spelt).toEqual(["--server-name", "STRATAGEM_SERVER_NAME"]);
});

function rowOf(key: string, { kind, fallback, help, otherwise = "" }: Setting): string {
  const usual = fallback === null ? otherwise : `\`${textOf(kind.write(fallback))}\``;
  const flag = isLimit(key) ? key : fallback === true ? noFlagOf(key) : flagOf(key);
  const choices = kind.choices === undefined ? "" : `: ${kind.choices.join(", ")}`;
  return `| \`${flag}\` | ${help}${choices} | ${usual} |\n`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
