/** Serves the live page: one HTML file with inline style and script. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Route } from "../../server/http/route.ts";
import { LIVE_PATH } from "./live.ts";
import { LiveDocuments } from "./live-document.ts";
import { pageHtml } from "./markup.ts";
import { pageStyle } from "./style.ts";

type Headers = Readonly<Record<string, string>>;

/** Headers of the page and of its document. */
const COMMON_HEADERS: Headers = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

const LIVE_HEADERS: Headers = { ...COMMON_HEADERS, "content-type": "application/json" };

/** Modules of the script, in the order of their dependencies. */
const MODULES = [
  ...["live", "client/numbers", "client/dom", "client/history", "client/measures"],
  ...["client/verdict", "client/figure", "client/chart", "client/colours", "client/trends"],
  ...["client/load-figures", "client/share-figure", "client/worker-figure", "client/tables"],
  ...["client/tiles", "client/promise-list", "client/application-view", "client/main"],
];

interface Page {
  readonly html: Buffer;
  readonly headers: Headers;
}

/** Routes of the page, which is built at the first request, and of its document. */
export function pageRoutes(): readonly Route[] {
  let made: Page | undefined;
  let documents: LiveDocuments | undefined;
  return [
    {
      paths: ["/"],
      methods: "GET",
      need: "open",
      // Shown where metrics are served, because the page reads its document there.
      isFor: (request, served) => served.has("metrics") && acceptsHtml(request),
      answer: () => {
        made ??= madePage();
        return { status: 200, body: made.html, headers: made.headers };
      },
    },
    {
      paths: [`/${LIVE_PATH}`],
      methods: "GET",
      need: "metrics",
      answer: ({ state }) => {
        documents ??= new LiveDocuments(state);
        return { status: 200, body: documents.body(), headers: LIVE_HEADERS };
      },
    },
  ];
}

/** Browsers accept HTML by name; load balancers and API clients do not. */
function acceptsHtml({ headers }: IncomingMessage): boolean {
  return /\btext\/html\b/i.test(headers.accept ?? "");
}

function madePage(): Page {
  const [style, script] = [pageStyle(), joinedScript()];
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "connect-src 'self'",
    "img-src data:",
    ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ];
  return {
    html: Buffer.from(pageHtml({ style, script })),
    headers: {
      ...COMMON_HEADERS,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy.join("; "),
      vary: "accept",
    },
  };
}

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** Line starts that appear only in modules. */
const NOT_JOINED = ["import ", "export {", "//#"];
/** Operators that no text in the script contains between spaces. */
const OPERATORS = / (=|=>|[=!]==|\?\?|&&|\|\||[-+<>]=) /g;

/**
 * Joins the built modules into one scope: their imports refer to earlier modules, and each
 * top-level name is unique. No text spans lines, so most whitespace can be removed.
 */
function joinedScript(): string {
  const description = createRequire(import.meta.url).resolve("stratagem-runtime/package.json");
  const folder = join(dirname(description), "dist/features/live-page");
  return MODULES.map((name) =>
    readFileSync(join(folder, `${name}.js`), "utf8")
      .split("\n")
      .filter((line) => !NOT_JOINED.some((start) => line.startsWith(start)))
      .map((line) => line.trimStart().replace(/^export /, ""))
      .join("\n")
      .replace(/(?<=[{([,;])\n|\n(?=[)\]}])/g, "")
      .replace(OPERATORS, "$1"),
  ).join("");
}
